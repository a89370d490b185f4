#include "server/bench/shapes.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "model/model.h"

namespace banyan::server {
namespace {

using kernels::DType;

// "attn_q" of "blk.17.attn_q.weight"; nothing where a tensor is no matrix of a layer.
std::optional<std::string> ProductName(const model::StoredTensor& tensor) {
  absl::string_view name(tensor.name.data(), tensor.name.size());
  if (tensor.dims[1] == 1 || !absl::ConsumePrefix(&name, "blk.") ||
      !absl::ConsumeSuffix(&name, ".weight")) {
    return std::nullopt;
  }
  const std::size_t dot = name.find('.');
  if (dot == absl::string_view::npos) return std::nullopt;
  return std::string(name.substr(dot + 1));
}

bool SameShape(const ProductShape& a, const ProductShape& b) {
  return a.type == b.type && a.outputs == b.outputs && a.cols == b.cols &&
         a.vocabulary == b.vocabulary;
}

void Count(ProductShape product, ModelShape& shape) {
  for (ProductShape& known : shape.products) {
    if (!SameShape(known, product)) continue;
    ++known.times;
    if (!absl::StrContains(absl::StrCat(" ", known.names, " "),
                           absl::StrCat(" ", product.names, " "))) {
      absl::StrAppend(&known.names, " ", product.names);
    }
    return;
  }
  shape.products.push_back(std::move(product));
}

// A file that would run has only types that kernels read.
ProductShape ProductOf(std::string name, const model::StoredTensor& tensor, bool vocabulary) {
  return {.names = std::move(name),
          .type = static_cast<DType>(tensor.type),
          .outputs = tensor.dims[1],
          .cols = tensor.dims[0],
          .vocabulary = vocabulary};
}

}  // namespace

ModelShape SmolLm2Shape() {
  constexpr DType kType = DType::kQ4_1;
  ModelShape shape = {.name = "SmolLM2-135M, Q4_1",
                      .heads = 9,
                      .kv_heads = 3,
                      .head_dim = 64,
                      .embedding = 576,
                      .feed_forward = 1536,
                      .embedding_type = DType::kQ8_0,
                      .vocabulary = 49152,
                      .products = {}};
  shape.products = {{"attn_q attn_output", kType, 576, 576, 60},
                    {"attn_k attn_v", kType, 192, 576, 60},
                    {"ffn_gate ffn_up", kType, 1536, 576, 60},
                    {"ffn_down", kType, 576, 1536, 30},
                    {"vocabulary", shape.embedding_type, shape.vocabulary, 576, 1, true}};
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
  for (const model::StoredTensor& tensor : (*file)->tensors()) {
    if (tensor.name == "token_embd.weight") embedding = &tensor;
    if (tensor.name == "output.weight") head = &tensor;
    std::optional<std::string> name = ProductName(tensor);
    if (!name) continue;
    if (*name == "ffn_down") shape.feed_forward = tensor.dims[0];
    Count(ProductOf(*std::move(name), tensor, /*vocabulary=*/false), shape);
  }
  if (embedding == nullptr || shape.feed_forward == 0) {
    return absl::UnimplementedError("the file has no embedding or no feed-forward layer");
  }
  shape.embedding = embedding->dims[0];
  shape.vocabulary = embedding->dims[1];
  shape.embedding_type = static_cast<DType>(embedding->type);
  shape.products.push_back(
      ProductOf("vocabulary", head == nullptr ? *embedding : *head, /*vocabulary=*/true));
  return shape;
}

}  // namespace banyan::server
