// What a file would be as a model, from its header alone.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "kernels/kv_shape.h"
#include "model/architectures.h"
#include "model/model.h"
#include "model/weights.h"

namespace banyan::model {
namespace {

// Keys "<architecture>.<name>" that every architecture uses alike. What is absent or absurd reads
// as 0, so that files which do not run are described as well.
class Shape {
 public:
  Shape(const Metadata& metadata, std::string_view architecture)
      : metadata_(metadata), prefix_(absl::StrCat(std::string(architecture), ".")) {}

  std::int32_t Integer(std::string_view name, std::int32_t otherwise = 0) const {
    const std::string key = absl::StrCat(prefix_, std::string(name));
    if (!metadata_.Has(key)) return otherwise;
    const std::int64_t value = metadata_.Integer(key).value_or(0);
    return 0 < value && value <= kMax ? static_cast<std::int32_t>(value) : 0;
  }

 private:
  static constexpr std::int64_t kMax = 1 << 30;
  const Metadata& metadata_;
  const std::string prefix_;
};

void FillShape(const File& file, Facts& facts) {
  const Shape shape(file.metadata(), facts.architecture);
  facts.context_length = shape.Integer("context_length");
  facts.layers = shape.Integer("block_count");
  facts.heads = shape.Integer("attention.head_count");
  facts.kv_heads = shape.Integer("attention.head_count_kv", facts.heads);
  const std::int32_t embedding = shape.Integer("embedding_length");
  facts.head_dim =
      shape.Integer("attention.key_length", facts.heads > 0 ? embedding / facts.heads : 0);
  const kernels::KvShape kv{
      .layers = facts.layers, .kv_heads = facts.kv_heads, .head_dim = facts.head_dim};
  // A key and a value take less than 8 bytes for each dimension, whatever the format.
  const std::int64_t heads = std::int64_t{facts.layers} * facts.kv_heads;
  if (facts.head_dim > 0 && heads < std::numeric_limits<std::int64_t>::max() / 8 / facts.head_dim) {
    facts.kv_bytes_per_token = kernels::BytesPerToken(kv);
    facts.kv_dtype = kernels::LayoutOf(kv.format).name;
  }
}

void FillWeights(const File& file, Facts& facts) {
  for (const StoredTensor& tensor : file.tensors()) {
    std::int64_t elements = 1;
    for (const std::int64_t dim : tensor.dims) elements *= dim;
    facts.parameters += elements;
    facts.weight_bytes += static_cast<std::int64_t>(tensor.data.size());
    if (tensor.name == "token_embd.weight") {
      facts.vocabulary_size = static_cast<std::int32_t>(
          std::min<std::int64_t>(tensor.dims[1], std::numeric_limits<std::int32_t>::max()));
    }
  }
}

}  // namespace

Inspection Inspect(const File& file) {
  Inspection result;
  Facts& facts = result.facts;
  facts.architecture = file.metadata().String("general.architecture").value_or("");
  facts.name = file.metadata().String("general.name").value_or(facts.architecture);
  FillShape(file, facts);
  FillWeights(file, facts);
  const absl::StatusOr<const Architecture*> architecture = FindArchitecture(file.metadata());
  const absl::StatusOr<DecoderShape> shape =
      architecture.ok() ? CheckDecoder(**architecture, file) : architecture.status();
  if (shape.ok()) {
    for (const LayerAttention& layer : shape->attention) result.windows.push_back(layer.window);
  } else {
    result.problems.emplace_back(shape.status().message());
  }
  for (std::string& problem : UnsupportedTypes(file)) result.problems.push_back(std::move(problem));
  return result;
}

}  // namespace banyan::model
