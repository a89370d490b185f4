// The hyperparameters of a llama model, read and checked.
#pragma once

#include <cstdint>

#include "absl/status/statusor.h"
#include "kernels/tensor.h"
#include "model/model.h"

namespace banyan::model {

struct LlamaShape {
  std::int32_t layers = 0;
  std::int32_t embedding = 0;     // width of the residual
  std::int32_t feed_forward = 0;  // width inside SwiGLU
  std::int32_t heads = 0;
  std::int32_t kv_heads = 0;  // divides heads
  std::int32_t head_dim = 0;  // a multiple of 8
  std::int32_t vocabulary = 0;
  std::int64_t context = 0;  // tokens
  float norm_epsilon = 0;
  kernels::Rope rope;

  // kInvalidArgument names the key that is missing or out of range; kUnimplemented one that asks
  // for what is not built.
  static absl::StatusOr<LlamaShape> Read(const File& file);
};

}  // namespace banyan::model
