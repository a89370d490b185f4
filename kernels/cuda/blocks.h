// Matrices as a file has them, blocks of quantized numbers, in the device's memory; as the other
// kernels (kernels.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/kernels.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {

// [rows, cols], row after row; each row is whole blocks, and cols a multiple of 8.
struct BlockMatrix {
  DType type = DType::kF32;
  const std::byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

// out = the matrix: what DequantizeRow gives (kernels/tensor.h), rounded.
void Dequantize(Stream stream, const BlockMatrix& matrix, Output out);

// y[i] = w x[i] + bias, or y[i] += w x[i] + bias, for few rows: weights are read once for each
// kBlockRows rows, and dequantized in registers. x is [rows, w.cols], y [rows, w.rows]. A row's
// bits do not depend on how many there are.
inline constexpr std::int32_t kBlockRows = 8;
struct BlockProduct {
  BlockMatrix weights;
  Numbers x;
  const float* bias = nullptr;  // [w.rows] or null
  std::int32_t rows = 0;
  float* y = nullptr;
  bool adds = false;  // to y
};
void MultiplyBlocks(Stream stream, const BlockProduct& product);

}  // namespace banyan::kernels::cuda
