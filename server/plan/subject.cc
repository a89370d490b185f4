#include "server/plan/subject.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/model.h"
#include "server/plan/hf_config.h"
#include "server/small_file.h"

namespace banyan::server {
namespace {

constexpr std::size_t kMaxConfigBytes = 1 << 20;  // real ones have under 100 KiB

absl::Status CheckCount(std::string_view what, std::int64_t value, std::int64_t high) {
  if (1 <= value && value <= high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      value == 0
          ? absl::StrCat("the ", std::string(what), " is 0 or not told; 1 to ", high, " is allowed")
          : absl::StrCat("the ", std::string(what), " is ", value, "; 1 to ", high, " is allowed"));
}

absl::Status CheckLatent(const Latent& latent) {
  absl::Status status = CheckCount("size of the latent", latent.rank, kMaxPlannedHeadDim);
  status.Update(CheckCount("size of the rotated key", latent.rope, kMaxPlannedHeadDim));
  if (status.ok() && (latent.rank + latent.rope) % 2 != 0) {
    status = absl::InvalidArgumentError(absl::StrCat("the latent and its rotated key have ",
                                                     latent.rank + latent.rope,
                                                     " numbers, which is odd"));
  }
  return status;
}

// Attention over a latent, as converters write it; ours runs none.
std::optional<Latent> ReadLatent(const Metadata& metadata, const std::string& architecture) {
  const auto rank = metadata.Integer(absl::StrCat(architecture, ".attention.kv_lora_rank"));
  if (!rank) return std::nullopt;
  const auto rope = metadata.Integer(absl::StrCat(architecture, ".rope.dimension_count"));
  return Latent{.rank = *rank, .rope = rope.value_or(0)};
}

absl::StatusOr<Subject> ReadGguf(const std::string& path) {
  const auto file = model::File::Open(path);
  if (!file.ok()) return file.status();
  model::Inspection inspection = model::Inspect(**file);
  const model::Facts& facts = inspection.facts;
  Subject subject;
  subject.name = facts.name;
  subject.architecture = facts.architecture;
  subject.shape = {.layers = facts.layers,
                   .kv_heads = facts.kv_heads,
                   .head_dim = facts.head_dim,
                   .latent = ReadLatent((*file)->metadata(), facts.architecture),
                   .windows = {}};
  if (subject.shape.latent) subject.shape.kv_heads = 1;
  subject.shape.windows = std::move(inspection.windows);
  if (facts.heads <= kMaxPlannedHeads) subject.heads = facts.heads;
  subject.context_length = facts.context_length;
  subject.parameters = facts.parameters;
  subject.weights = Weights{.bytes = facts.weight_bytes, .from = WeightsFrom::kFile};
  if (!inspection.problems.empty()) subject.problem = inspection.problems.front();
  if (absl::Status status = CheckCacheShape(subject.shape); !status.ok()) return status;
  return subject;
}

absl::StatusOr<Subject> ReadConfig(const std::string& path) {
  const absl::StatusOr<std::string> text = ReadSmallFile(path, kMaxConfigBytes);
  if (!text.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("it is no GGUF file, and no config.json: ", text.status().message()));
  }
  return ParseHfConfig(*text);
}

}  // namespace

kernels::KvShape CacheShape::In(kernels::KvFormat format, std::int64_t page_size) const {
  kernels::KvShape shape;
  shape.layers = static_cast<std::int32_t>(layers);
  shape.kv_heads = static_cast<std::int32_t>(kv_heads);
  shape.head_dim = static_cast<std::int32_t>(latent ? (latent->rank + latent->rope) / 2 : head_dim);
  shape.page_size = static_cast<std::int32_t>(page_size);
  shape.format = format;
  return shape;
}

std::int64_t CacheShape::windowed_layers() const {
  return std::count_if(windows.begin(), windows.end(), [](std::int64_t w) { return w > 0; });
}

absl::Status CheckCacheShape(const CacheShape& shape) {
  absl::Status status = CheckCount("number of layers", shape.layers, kMaxPlannedLayers);
  status.Update(CheckCount("number of KV heads", shape.kv_heads, kMaxPlannedHeads));
  status.Update(shape.latent ? CheckLatent(*shape.latent)
                             : CheckCount("size of a head", shape.head_dim, kMaxPlannedHeadDim));
  if (!status.ok()) return status;
  if (!shape.windows.empty() && std::ssize(shape.windows) != shape.layers) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are ", shape.windows.size(), " windows for ", shape.layers, " layers"));
  }
  for (const std::int64_t window : shape.windows) {
    if (window < 0 || window > kMaxPlannedContext) {
      return absl::InvalidArgumentError(absl::StrCat("a window is ", window, "; 0, for none, to ",
                                                     kMaxPlannedContext, " is allowed"));
    }
  }
  return absl::OkStatus();
}

std::string_view AttentionOf(const Subject& subject) {
  if (subject.shape.latent) return "MLA";
  if (subject.heads == subject.shape.kv_heads) return "MHA";
  if (subject.shape.kv_heads == 1) return "MQA";
  return subject.heads == 0 ? "" : "GQA";
}

absl::StatusOr<Subject> ReadSubject(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) {
    return ReadConfig((std::filesystem::path(path) / "config.json").string());
  }
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return absl::NotFoundError(absl::StrCat("it cannot be opened: ", std::strerror(errno)));
  std::string magic(4, '\0');
  file.read(magic.data(), static_cast<std::streamsize>(magic.size()));
  file.close();
  return magic == "GGUF" ? ReadGguf(path) : ReadConfig(path);
}

}  // namespace banyan::server
