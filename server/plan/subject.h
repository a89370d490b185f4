// What is planned for: what a token of a model keeps, and how large the model's weights are.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/kv_shape.h"

namespace banyan::server {

inline constexpr std::int64_t kMaxPlannedLayers = 4096;
inline constexpr std::int64_t kMaxPlannedHeads = 4096;
inline constexpr std::int64_t kMaxPlannedHeadDim = 1 << 16;
inline constexpr std::int64_t kMaxPlannedContext = 1 << 30;  // tokens; of a window too

// Multi-head latent attention: in each layer a token keeps one vector that the keys and values of
// all heads come from, and one rotated key. DeepSeek-AI, "DeepSeek-V2", 2024.
struct Latent {
  std::int64_t rank = 0;
  std::int64_t rope = 0;  // rank + rope is even
  // What the latent spares: the size of a head's key and value, the mean of both. 0: not known.
  std::int64_t head_dim = 0;
};

// What a token keeps: in each layer a key and a value for each KV head, or a latent.
struct CacheShape {
  std::int64_t layers = 0;
  std::int64_t kv_heads = 0;  // with a latent: 1
  std::int64_t head_dim = 0;  // numbers of a key, and of a value; with a latent: not used
  std::optional<Latent> latent = {};
  // How many of the latest positions each layer sees; 0: all. Empty: all layers see all.
  std::vector<std::int64_t> windows = {};

  // The page store that holds it. A latent has the place of a key and its rotated key that of a
  // value (or some of each), so that both have a scale where the format has scales.
  kernels::KvShape In(kernels::KvFormat format, std::int64_t page_size) const;
  std::int64_t windowed_layers() const;
};

// kInvalidArgument names what is missing or out of bounds. One that passes has 0 < values per token
// < 2^42.
absl::Status CheckCacheShape(const CacheShape& shape);

enum class WeightsFrom : std::uint8_t { kFile, kEstimate, kCommandLine };

struct Weights {
  std::int64_t bytes = 0;
  WeightsFrom from = WeightsFrom::kFile;
  std::string dtype = {};  // kEstimate: "bfloat16"
};

struct Subject {
  std::string name;  // empty where only a shape was given
  std::string architecture;
  CacheShape shape;
  std::int64_t heads = 0;  // of queries, at most kMaxPlannedHeads; 0: not known, as both below
  std::int64_t context_length = 0;
  std::int64_t parameters = 0;
  std::optional<Weights> weights;
  std::string problem = {};  // why this server would not run it; empty: nothing is known against it
};

// "MHA", "GQA", "MQA" or "MLA"; "" where it takes the number of query heads to know.
std::string_view AttentionOf(const Subject& subject);

// A GGUF file, whose header alone is read, or the config.json of a model in the form of Hugging
// Face, or the folder of one. Errors leave out the path: kNotFound, or kInvalidArgument.
absl::StatusOr<Subject> ReadSubject(const std::string& path);

}  // namespace banyan::server
