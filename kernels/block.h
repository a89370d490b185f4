// The blocks of the quantized types, taken apart: what a file's block, a tile of weights and the
// plain reference have in common.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/tensor.h"

namespace banyan::kernels {

inline constexpr int kMaxBlock = 256;  // values of the largest block

// Value i of a block is, each operation rounded to float in this order,
//   Q8_0        code * d                  Q4_1, Q5_1  d * code + m
//   Q4_0        d * (code - 8)            Q4_K, Q5_K  (d * scale) * code - (m * min)
//   Q5_0        d * (code - 16)           Q6_K        (d * scale) * (code - 32)
// with the scale (and min) of its run of 32 columns, in Q6_K of 16.
struct Codes {
  std::uint16_t d = 0;                        // f16
  std::uint16_t m = 0;                        // f16
  std::array<std::uint8_t, 16> scales;        // 6 bits; in Q6_K an int8
  std::array<std::uint8_t, 8> mins;           // 6 bits
  std::array<std::uint8_t, kMaxBlock> codes;  // unsigned; in Q8_0 an int8
};

// `type` is a quantized one. Sets what the type has and leaves the rest.
void TakeApart(DType type, const std::byte* block, Codes& out);
// The ShapeOf(type).block values of a block.
void Expand(DType type, const Codes& codes, float* out);

}  // namespace banyan::kernels
