#include "server/bench/shapes.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "model/model.h"

namespace banyan::server {
namespace {

using kernels::DType;

// What is computed in one go, by the names of the tensors; any other matrix is by itself.
struct Together {
  ProductKind kind;
  std::vector<absl::string_view> names;
};
const std::vector<Together>& AllTogether() {
  static const auto* all =
      new std::vector<Together>{{ProductKind::kEach, {"attn_q", "attn_k", "attn_v"}},
                                {ProductKind::kGated, {"ffn_gate", "ffn_up"}}};
  return *all;
}

// The matrices of one layer in the order of the file, by names like "attn_q".
using Layer = std::vector<std::pair<std::string, const model::StoredTensor*>>;

// "17" and "attn_q" of "blk.17.attn_q.weight"; nothing where a tensor is no matrix of a layer.
std::optional<std::pair<std::string, std::string>> PlaceOf(const model::StoredTensor& tensor) {
  absl::string_view name(tensor.name.data(), tensor.name.size());
  if (tensor.dims[1] == 1 || !absl::ConsumePrefix(&name, "blk.") ||
      !absl::ConsumeSuffix(&name, ".weight")) {
    return std::nullopt;
  }
  const std::size_t dot = name.find('.');
  if (dot == absl::string_view::npos) return std::nullopt;
  return std::pair(std::string(name.substr(0, dot)), std::string(name.substr(dot + 1)));
}

// A file that would run has only types that kernels read.
MatrixShape MatrixOf(const model::StoredTensor& tensor) {
  return {static_cast<DType>(tensor.type), tensor.dims[1]};
}

void Count(ProductShape product, ModelShape& shape) {
  for (ProductShape& known : shape.products) {
    if (known.names == product.names && known.matrices == product.matrices) {
      ++known.times;
      return;
    }
  }
  shape.products.push_back(std::move(product));
}

void CountLayer(const Layer& layer, ModelShape& shape) {
  std::set<std::string> done;
  for (const auto& [name, tensor] : layer) {
    if (done.contains(name)) continue;
    ProductShape product = {.names = "", .matrices = {}, .cols = tensor->dims[0]};
    std::vector<absl::string_view> names = {name};
    for (const Together& together : AllTogether()) {
      if (std::find(together.names.begin(), together.names.end(), name) == together.names.end())
        continue;
      product.kind = together.kind;
      names = together.names;
    }
    for (const absl::string_view one : names) {
      const auto at = std::find_if(layer.begin(), layer.end(),
                                   [&](const auto& matrix) { return matrix.first == one; });
      if (at == layer.end()) continue;
      absl::StrAppend(&product.names, product.names.empty() ? "" : " ", one);
      product.matrices.push_back(MatrixOf(*at->second));
      done.insert(at->first);
    }
    Count(std::move(product), shape);
  }
}

}  // namespace

ModelShape SmolLm2Shape() {
  ModelShape shape = {.name = "SmolLM2-135M, Q4_1",
                      .heads = 9,
                      .kv_heads = 3,
                      .head_dim = 64,
                      .embedding = 576,
                      .embedding_type = DType::kQ8_0,
                      .vocabulary = 49152,
                      .products = {}};
  const auto matrices = [](std::initializer_list<std::int64_t> outputs) {
    std::vector<MatrixShape> all;
    for (const std::int64_t count : outputs) all.push_back({DType::kQ4_1, count});
    return all;
  };
  shape.products = {
      {"attn_q attn_k attn_v", ProductKind::kEach, matrices({576, 192, 192}), 576, 30},
      {"attn_output", ProductKind::kEach, matrices({576}), 576, 30},
      {"ffn_gate ffn_up", ProductKind::kGated, matrices({1536, 1536}), 576, 30},
      {"ffn_down", ProductKind::kEach, matrices({576}), 1536, 30},
      {"vocabulary, the greatest",
       ProductKind::kGreatest,
       {{shape.embedding_type, shape.vocabulary}},
       576,
       1,
       true}};
  return shape;
}

absl::StatusOr<ModelShape> ReadModelShape(const std::string& path) {
  const auto file = model::File::Open(path);
  if (!file.ok()) return file.status();
  const model::Inspection inspection = model::Inspect(**file);
  if (!inspection.problems.empty()) {
    return absl::InvalidArgumentError(inspection.problems.front());
  }
  const model::Facts& facts = inspection.facts;
  ModelShape shape;
  shape.name = facts.name;
  shape.heads = facts.heads;
  shape.kv_heads = facts.kv_heads;
  shape.head_dim = facts.head_dim;
  const model::StoredTensor* embedding = nullptr;
  const model::StoredTensor* head = nullptr;
  std::map<std::string, Layer> layers;
  for (const model::StoredTensor& tensor : (*file)->tensors()) {
    if (tensor.name == "token_embd.weight") embedding = &tensor;
    if (tensor.name == "output.weight") head = &tensor;
    if (auto place = PlaceOf(tensor)) {
      layers[place->first].emplace_back(std::move(place->second), &tensor);
    }
  }
  if (embedding == nullptr) return absl::UnimplementedError("the file has no embedding");
  if (head == nullptr) head = embedding;
  for (const auto& [number, layer] : layers) CountLayer(layer, shape);
  shape.embedding = embedding->dims[0];
  shape.vocabulary = embedding->dims[1];
  shape.embedding_type = static_cast<DType>(embedding->type);
  shape.products.push_back({.names = "vocabulary, the greatest",
                            .kind = ProductKind::kGreatest,
                            .matrices = {MatrixOf(*head)},
                            .cols = head->dims[0],
                            .vocabulary = true});
  return shape;
}

}  // namespace banyan::server
