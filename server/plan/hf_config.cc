#include "server/plan/hf_config.h"

#include <array>
#include <boost/json/parser.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "server/plan/config_fields.h"
#include "server/plan/hf_weights.h"

namespace banyan::server {
namespace {

namespace json = boost::json;

constexpr std::int64_t kMaxHidden = 1 << 24;

// Members of models whose layers do not all keep a key and a value of a token.
void RefuseWhatIsNotKnown(ConfigFields& config) {
  constexpr const char* kMembers[] = {"attn_layer_period", "full_attention_interval",
                                      "hybrid_override_pattern", "layers_block_type"};
  for (const char* name : kMembers) {
    if (config.Has(name)) {
      config.Fail(absl::StrCat("'", name, "' tells of layers without keys and values, which are ",
                               "not known here"));
    }
  }
  if (config.Integer("num_kv_shared_layers", 0, kMaxPlannedLayers).value_or(0) > 0) {
    config.Fail("'num_kv_shared_layers' tells of layers that share keys, which are not known here");
  }
}

// What transformers assume where a file of that type leaves it out; 0: nothing, it must be there.
struct Defaults {
  std::string_view type;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t full_every = 0;  // one layer in so many sees all; 0: they are all alike
};

const Defaults& DefaultsOf(std::string_view type) {
  static constexpr std::array<Defaults, 4> kKnown = {{{"gemma2", 8, 4, 256, 2},
                                                      {"gemma3_text", 8, 4, 256, 6},
                                                      {"cohere2", 0, 0, 0, 4},
                                                      {"", 0, 0, 0, 0}}};
  for (const Defaults& defaults : kKnown) {
    if (defaults.type == type) return defaults;
  }
  return kKnown.back();
}

std::vector<std::int64_t> WindowsByType(ConfigFields& config, const json::array& types,
                                        std::optional<std::int64_t> window, std::int64_t layers) {
  std::vector<std::int64_t> windows;
  if (std::ssize(types) != layers) {
    config.Fail(absl::StrCat("'layer_types' has ", types.size(), " entries, but there are ", layers,
                             " layers"));
    return windows;
  }
  for (const json::value& entry : types) {
    const json::string* type = entry.if_string();
    if (type != nullptr && *type == "full_attention") {
      windows.push_back(0);
    } else if (type != nullptr && *type == "sliding_attention") {
      if (!window)
        config.Fail("'layer_types' names sliding layers, but 'sliding_window' is missing");
      windows.push_back(window.value_or(0));
    } else {
      const std::string name = type == nullptr ? "" : std::string(type->c_str(), type->size());
      config.Fail(absl::StrCat("'layer_types' has ", Quote(name),
                               "; known are full_attention and sliding_attention"));
      return windows;
    }
  }
  return windows;
}

std::vector<std::int64_t> ReadWindows(ConfigFields& config, std::int64_t layers,
                                      const std::string& type) {
  if (config.Bool("use_sliding_window") == false) return {};
  const auto window = config.Integer("sliding_window", 1, kMaxPlannedContext);
  if (const json::array* types = config.Array("layer_types")) {
    return WindowsByType(config, *types, window, layers);
  }
  auto pattern = config.Integer("sliding_window_pattern", 1, kMaxPlannedLayers);
  if (!pattern) pattern = config.Integer("_sliding_window_pattern", 1, kMaxPlannedLayers);
  const std::int64_t full_every = pattern.value_or(DefaultsOf(type).full_every);
  const std::int64_t full_first =
      config.Integer("max_window_layers", 0, kMaxPlannedLayers).value_or(0);
  if (!window) return {};
  std::vector<std::int64_t> windows(static_cast<std::size_t>(layers), *window);
  for (std::int64_t i = 0; i < layers; ++i) {
    const bool full = i < full_first || (full_every > 0 && (i + 1) % full_every == 0);
    if (full) windows[static_cast<std::size_t>(i)] = 0;
  }
  return windows;
}

void ReadHeads(ConfigFields& config, Subject& subject) {
  CacheShape& shape = subject.shape;
  const Defaults& defaults = DefaultsOf(subject.architecture);
  const bool has_heads = config.Has("num_attention_heads") || defaults.heads == 0;
  subject.heads =
      has_heads ? config.Needed("num_attention_heads", 1, kMaxPlannedHeads) : defaults.heads;
  shape.kv_heads = config.Integer("num_key_value_heads", 1, kMaxPlannedHeads)
                       .value_or(defaults.kv_heads > 0 ? defaults.kv_heads : subject.heads);
  if (subject.heads % shape.kv_heads != 0) {
    config.Fail(absl::StrCat("'num_attention_heads' is ", subject.heads,
                             ", no multiple of 'num_key_value_heads', which is ", shape.kv_heads));
  }
  if (config.Has("head_dim") || defaults.head_dim > 0) {
    shape.head_dim = config.Integer("head_dim", 1, kMaxPlannedHeadDim)
                         .value_or(defaults.head_dim > 0 ? defaults.head_dim : 1);
  } else {
    const std::int64_t hidden = config.Needed("hidden_size", 1, kMaxHidden);
    if (hidden % subject.heads != 0) {
      config.Fail(absl::StrCat("'hidden_size' is ", hidden,
                               ", no multiple of 'num_attention_heads', which is ", subject.heads));
    }
    shape.head_dim = hidden / subject.heads;
  }
  const auto value_dim = config.Integer("v_head_dim", 1, kMaxPlannedHeadDim);
  if (value_dim && *value_dim != shape.head_dim) {
    config.Fail("'v_head_dim' differs from the size of keys, which is not known here");
  }
}

void ReadLatent(ConfigFields& config, Subject& subject) {
  CacheShape& shape = subject.shape;
  subject.heads = config.Needed("num_attention_heads", 1, kMaxPlannedHeads);
  shape.kv_heads = 1;
  shape.latent = Latent{.rank = config.Needed("kv_lora_rank", 1, kMaxPlannedHeadDim),
                        .rope = config.Needed("qk_rope_head_dim", 1, kMaxPlannedHeadDim)};
  const auto key = config.Integer("qk_nope_head_dim", 1, kMaxPlannedHeadDim);
  const auto value = config.Integer("v_head_dim", 1, kMaxPlannedHeadDim);
  if (key && value) shape.latent->head_dim = (*key + shape.latent->rope + *value) / 2;
}

absl::StatusOr<Subject> Read(const json::object& root) {
  ConfigFields config(root);
  RefuseWhatIsNotKnown(config);
  Subject subject;
  subject.architecture = config.String("model_type");
  subject.name = config.String("_name_or_path");
  subject.shape.layers = config.Needed("num_hidden_layers", 1, kMaxPlannedLayers);
  if (config.Has("kv_lora_rank")) {
    ReadLatent(config, subject);
  } else {
    ReadHeads(config, subject);
  }
  subject.shape.windows = ReadWindows(config, subject.shape.layers, subject.architecture);
  subject.context_length =
      config.Integer("max_position_embeddings", 1, kMaxPlannedContext).value_or(0);
  EstimateWeights(config, subject);
  if (!config.status().ok()) return config.status();
  if (absl::Status status = CheckCacheShape(subject.shape); !status.ok()) return status;
  return subject;
}

}  // namespace

absl::StatusOr<Subject> ParseHfConfig(std::string_view text) {
  json::parser parser;
  json::error_code error;
  const std::size_t read = parser.write(text.data(), text.size(), error);
  if (error) {
    return absl::InvalidArgumentError(absl::StrCat(
        "it is no GGUF file, and not valid JSON: ", error.message(), " (at byte ", read, ")"));
  }
  const json::value whole = parser.release();
  const json::object* root = whole.if_object();
  if (root == nullptr) return absl::InvalidArgumentError("it is JSON, but not an object");
  return Read(*root);
}

}  // namespace banyan::server
