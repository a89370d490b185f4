#include "kernels/tensor.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/half.h"
#include "kernels/require.h"

namespace banyan::kernels {
namespace {

float HalfAt(const std::byte* at) {
  std::uint16_t half;
  std::memcpy(&half, at, sizeof half);
  return HalfToFloat(half);
}

void DequantizeQ4_1(const std::byte* block, float* out) {
  const float d = HalfAt(block);
  const float m = HalfAt(block + 2);
  for (int i = 0; i < 16; ++i) {
    const auto pair = std::to_integer<unsigned>(block[4 + i]);
    out[i] = d * static_cast<float>(pair & 15U) + m;
    out[i + 16] = d * static_cast<float>(pair >> 4) + m;
  }
}

void DequantizeQ8_0(const std::byte* block, float* out) {
  const float d = HalfAt(block);
  for (int i = 0; i < 32; ++i)
    out[i] = d * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
}

}  // namespace

void RequireFailed(const char* what) {
  std::fprintf(stderr, "kernels: %s\n", what);
  std::fflush(stderr);
  std::abort();
}

std::optional<BlockShape> FindBlockShape(std::uint32_t gguf_type) {
  switch (static_cast<DType>(gguf_type)) {
    case DType::kF32:
      return BlockShape{"F32", 1, 4};
    case DType::kF16:
      return BlockShape{"F16", 1, 2};
    case DType::kQ4_1:
      return BlockShape{"Q4_1", 32, 20};
    case DType::kQ8_0:
      return BlockShape{"Q8_0", 32, 34};
  }
  return std::nullopt;
}

BlockShape ShapeOf(DType type) {
  const std::optional<BlockShape> shape = FindBlockShape(static_cast<std::uint32_t>(type));
  Require(shape.has_value(), "a tensor type outside DType");
  return *shape;
}

void DequantizeBlock(DType type, const std::byte* block, float* out) {
  switch (type) {
    case DType::kF32:
      std::memcpy(out, block, sizeof *out);
      break;
    case DType::kF16:
      *out = HalfAt(block);
      break;
    case DType::kQ4_1:
      DequantizeQ4_1(block, out);
      break;
    case DType::kQ8_0:
      DequantizeQ8_0(block, out);
      break;
  }
}

void DequantizeRow(const HostTensor& tensor, std::int64_t row, std::span<float> out) {
  const BlockShape shape = ShapeOf(tensor.type);
  Require(0 <= row && row < tensor.rows, "DequantizeRow: no such row");
  Require(tensor.cols % shape.block == 0, "DequantizeRow: a row is whole blocks");
  Require(std::ssize(out) == tensor.cols, "DequantizeRow: out has one value per column");
  const std::int64_t blocks = tensor.cols / shape.block;
  const std::byte* at = tensor.data + row * blocks * shape.bytes;
  for (std::int64_t b = 0; b < blocks; ++b)
    DequantizeBlock(tensor.type, at + b * shape.bytes, out.data() + b * shape.block);
}

}  // namespace banyan::kernels
