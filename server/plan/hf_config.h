// A config.json as Hugging Face's transformers write it, as far as memory depends on it.
// https://huggingface.co/docs/transformers/main_classes/configuration
//
// Known: grouped heads (num_key_value_heads; absent: one per query head), head_dim (absent:
// hidden_size / num_attention_heads), latents (kv_lora_rank, qk_rope_head_dim), and windows:
// sliding_window in every layer, in those that layer_types names, in all but every
// sliding_window_pattern-th, from max_window_layers on, or in none (use_sliding_window false).
// Layers that keep something other than keys and values are refused by name.
#pragma once

#include <string_view>

#include "absl/status/statusor.h"
#include "server/plan/subject.h"

namespace banyan::server {

// kInvalidArgument names the member that is wrong or missing. The weights are an estimate, or not
// known.
absl::StatusOr<Subject> ParseHfConfig(std::string_view text);

}  // namespace banyan::server
