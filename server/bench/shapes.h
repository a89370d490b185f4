// What kernels are measured at: the shapes of a model, without its weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "kernels/tensor.h"

namespace banyan::server {

struct MatrixShape {
  kernels::DType type = kernels::DType::kF32;
  std::int64_t outputs = 0;

  bool operator==(const MatrixShape&) const = default;
};

enum class ProductKind : std::uint8_t {
  kEach,      // matrices that read the same input, each to outputs of its own
  kGated,     // two of them: the first gates the second
  kGreatest,  // one of them: which output is the greatest, as greedy answers ask of the vocabulary
};

// Products that a step computes in one go.
struct ProductShape {
  std::string names;  // of the tensors: "attn_q attn_k attn_v"
  ProductKind kind = ProductKind::kEach;
  std::vector<MatrixShape> matrices;
  std::int64_t cols = 0;
  std::int32_t times = 1;  // in a step
  bool vocabulary = false;
};

struct ModelShape {
  std::string name;
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int64_t embedding = 0;  // width of the residual
  // What the rows of tokens are taken from.
  kernels::DType embedding_type = kernels::DType::kF32;
  std::int64_t vocabulary = 0;
  std::vector<ProductShape> products;  // of a step; the vocabulary's is the last
};

ModelShape SmolLm2Shape();  // 135M, Q4_1

// Of a file that would run. Errors name what is wrong with it, on one line.
absl::StatusOr<ModelShape> ReadModelShape(const std::string& path);

}  // namespace banyan::server
