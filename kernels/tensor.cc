#include "kernels/tensor.h"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/block.h"
#include "kernels/half.h"
#include "kernels/require.h"

namespace banyan::kernels {
namespace {

std::uint16_t BitsAt(const std::byte* at) {
  std::uint16_t bits;
  std::memcpy(&bits, at, sizeof bits);
  return bits;
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
    case DType::kQ4_0:
      return BlockShape{"Q4_0", 32, 18};
    case DType::kQ4_1:
      return BlockShape{"Q4_1", 32, 20};
    case DType::kQ5_0:
      return BlockShape{"Q5_0", 32, 22};
    case DType::kQ5_1:
      return BlockShape{"Q5_1", 32, 24};
    case DType::kQ8_0:
      return BlockShape{"Q8_0", 32, 34};
    case DType::kQ4_K:
      return BlockShape{"Q4_K", 256, 144};
    case DType::kQ5_K:
      return BlockShape{"Q5_K", 256, 176};
    case DType::kQ6_K:
      return BlockShape{"Q6_K", 256, 210};
    case DType::kBF16:
      return BlockShape{"BF16", 1, 2};
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
      return;
    case DType::kF16:
      *out = HalfToFloat(BitsAt(block));
      return;
    case DType::kBF16:
      *out = std::bit_cast<float>(static_cast<std::uint32_t>(BitsAt(block)) << 16);
      return;
    default:
      Codes codes;
      TakeApart(type, block, codes);
      Expand(type, codes, out);
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
