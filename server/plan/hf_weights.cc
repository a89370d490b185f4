#include "server/plan/hf_weights.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

namespace banyan::server {
namespace {

constexpr std::int64_t kMaxWidth = 1 << 24;
constexpr std::int64_t kMaxExperts = 1 << 16;

struct NumberType {
  std::string_view name;
  std::int64_t bits;
};
constexpr std::array<NumberType, 4> kNumberTypes = {
    {{"float32", 32}, {"float16", 16}, {"bfloat16", 16}, {"float8_e4m3fn", 8}}};

// How the file's weights are stored; bits 0: not known.
struct Stored {
  std::string name;
  std::int64_t bits = 0;
};

Stored ReadStored(ConfigFields& config) {
  if (const boost::json::object* quantized = config.Object("quantization_config")) {
    const boost::json::value* method = quantized->if_contains("quant_method");
    if (method != nullptr && method->is_string() && method->get_string() == "fp8") {
      return {.name = "fp8", .bits = 8};
    }
    const boost::json::value* bits = quantized->if_contains("bits");
    if (bits == nullptr || !bits->is_int64()) return {};
    const std::int64_t count = bits->get_int64();
    if (count < 1 || count > 32) return {};
    return {.name = absl::StrCat(count, " bits each"), .bits = count};
  }
  std::string name = config.String("torch_dtype");
  if (name.empty()) name = config.String("dtype");
  for (const NumberType& type : kNumberTypes) {
    if (type.name == name) return {.name = name, .bits = type.bits};
  }
  return {};
}

// Numbers are real ones up to 2^53: sizes of no model are near that, and nothing overflows.
struct Sizes {
  double hidden = 0;
  double feed_forward = 0;
  double vocabulary = 0;
};

bool StartsWith(const std::string& type, std::string_view family) {
  return type.compare(0, family.size(), family.data(), family.size()) == 0;
}

double PlainAttention(ConfigFields& config, const Subject& subject, double hidden) {
  const double dim = static_cast<double>(subject.shape.head_dim);
  const double queries = static_cast<double>(subject.heads) * dim;
  const double keys = static_cast<double>(subject.shape.kv_heads) * dim;
  double count = 2 * hidden * queries + 2 * hidden * keys;
  if (StartsWith(subject.architecture, "qwen2") || config.Bool("attention_bias") == true) {
    count += queries + 2 * keys;
  }
  const bool head_norms =
      StartsWith(subject.architecture, "qwen3") || StartsWith(subject.architecture, "gemma3");
  return head_norms ? count + 2 * dim : count;
}

double LatentAttention(ConfigFields& config, const Subject& subject, double hidden) {
  const Latent& latent = *subject.shape.latent;
  const auto heads = static_cast<double>(subject.heads);
  const auto rank = static_cast<double>(latent.rank);
  const auto rope = static_cast<double>(latent.rope);
  const auto key =
      static_cast<double>(config.Integer("qk_nope_head_dim", 1, kMaxWidth).value_or(0));
  const auto value = static_cast<double>(config.Integer("v_head_dim", 1, kMaxWidth).value_or(0));
  const auto query_rank =
      static_cast<double>(config.Integer("q_lora_rank", 1, kMaxWidth).value_or(0));
  const double queries = heads * (key + rope);
  double count = query_rank > 0 ? query_rank * (hidden + 1 + queries) : hidden * queries;
  count += hidden * (rank + rope) + rank;  // the way down, and its norm
  count += rank * heads * (key + value);   // the way up
  return count + heads * value * hidden;
}

// Of all layers together.
double FeedForward(ConfigFields& config, const Sizes& sizes, double layers) {
  std::int64_t experts = 0;
  for (const char* name : {"n_routed_experts", "num_local_experts", "num_experts"}) {
    if (experts == 0) experts = config.Integer(name, 0, kMaxExperts).value_or(0);
  }
  const double dense_layer = 3 * sizes.hidden * sizes.feed_forward;
  if (experts == 0) return layers * dense_layer;
  const auto width = config.Integer("moe_intermediate_size", 1, kMaxWidth);
  const double expert = width ? 3 * sizes.hidden * static_cast<double>(*width) : dense_layer;
  const auto shared =
      static_cast<double>(config.Integer("n_shared_experts", 0, kMaxExperts).value_or(0));
  const auto wide_shared = static_cast<double>(
      config.Integer("shared_expert_intermediate_size", 0, kMaxWidth).value_or(0));
  const double dense = std::min(
      layers, static_cast<double>(
                  config.Integer("first_k_dense_replace", 0, kMaxPlannedLayers).value_or(0)));
  const double mixed_layer = (static_cast<double>(experts) + shared) * expert +
                             3 * sizes.hidden * wide_shared +
                             static_cast<double>(experts) * sizes.hidden;
  return dense * dense_layer + (layers - dense) * mixed_layer;
}

std::optional<Sizes> ReadSizes(ConfigFields& config) {
  const auto hidden = config.Integer("hidden_size", 1, kMaxWidth);
  const auto feed_forward = config.Integer("intermediate_size", 1, kMaxWidth);
  const auto vocabulary = config.Integer("vocab_size", 1, kMaxWidth);
  if (!hidden || !feed_forward || !vocabulary) return std::nullopt;
  return Sizes{static_cast<double>(*hidden), static_cast<double>(*feed_forward),
               static_cast<double>(*vocabulary)};
}

}  // namespace

void EstimateWeights(ConfigFields& config, Subject& subject) {
  const std::optional<Sizes> sizes = ReadSizes(config);
  const Stored stored = ReadStored(config);
  if (!sizes) return;
  const bool gemma = StartsWith(subject.architecture, "gemma");
  const bool tied = config.Bool("tie_word_embeddings").value_or(gemma);
  const auto layers = static_cast<double>(subject.shape.layers);
  const double norms =
      StartsWith(subject.architecture, "gemma2") || StartsWith(subject.architecture, "gemma3") ? 4
                                                                                               : 2;
  const double attention = subject.shape.latent ? LatentAttention(config, subject, sizes->hidden)
                                                : PlainAttention(config, subject, sizes->hidden);
  const double count = layers * (attention + norms * sizes->hidden) +
                       FeedForward(config, *sizes, layers) +
                       (tied ? 1 : 2) * sizes->vocabulary * sizes->hidden + sizes->hidden;
  constexpr double kMost = 9007199254740992.0;  // 2^53
  if (count > kMost) return config.Fail("the sizes make more than 2^53 parameters");
  subject.parameters = static_cast<std::int64_t>(count);
  if (stored.bits == 0) return;
  subject.weights = Weights{
      .bytes = subject.parameters / 8 * stored.bits + subject.parameters % 8 * stored.bits / 8,
      .from = WeightsFrom::kEstimate,
      .dtype = stored.name};
}

}  // namespace banyan::server
