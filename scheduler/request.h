// A request as the scheduler sees it: ids and bounds, no text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "model/batch.h"
#include "scheduler/kv_policy.h"
#include "scheduler/token_stream.h"

namespace banyan::scheduler {

inline constexpr std::int32_t kMaxPriority = 9;

// Its stream gets one kAdmitted, one kPromptScores per step of a prompt that is scored (at most one
// per token of the prompt), one kToken per token that is sent, and the end.
struct Request {
  RequestId id{};
  // Who asks: tenants have equal shares of the work, and never share pages. "" is the default one.
  std::string tenant;
  // Splits a tenant's pages, nothing else: requests share pages only when both are the same.
  std::string cache_salt;
  std::int32_t priority = 0;    // 0..kMaxPriority, higher first
  std::vector<TokenId> prompt;  // at least one token
  // >= 0; what the client asked, or what the context leaves. 0: the prompt is computed and kept,
  // and nothing is sampled.
  std::int64_t max_tokens = 0;
  std::int64_t min_tokens = 0;  // no end token is among the first so many; >= 0
  SamplingParams sampling;
  std::vector<TokenBias> logit_bias;  // of distinct tokens
  std::vector<TokenId> end_tokens;    // sampling one ends the answer, and it is not sent
  bool wants_logprobs = true;         // the log-probability of each token is reported
  std::int32_t top_logprobs = 0;      // and of so many alternatives; 0..kMaxTopLogprobs
  // The log-probability of each token of the prompt but the first is reported (kPromptScores,
  // before the first token). Such a prompt is computed from its beginning: pages hold no logits.
  bool score_prompt = false;
  // What it keeps of its KV; none: everything. Not of a prompt that is scored, and only on a model
  // all of whose layers see all keys.
  std::optional<KvPolicy> kv_policy;
  Tick submitted{0};
  std::shared_ptr<TokenStream> stream;
};

// The name of the namespace of that tenant and salt; two pairs never have the same name.
std::string NamespaceName(std::string_view tenant, std::string_view cache_salt);

enum class CancelReason : std::uint8_t { kClientGone, kStopString };

struct Cancellation {
  RequestId request{};
  CancelReason reason = CancelReason::kClientGone;
  // kStopString: how many tokens the answer used, cut to how many were sampled.
  std::int64_t output_tokens = 0;
};

}  // namespace banyan::scheduler
