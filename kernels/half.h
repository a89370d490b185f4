// IEEE 754 binary16 without the instructions for it. Not for files compiled for one variant.
#pragma once

#include <bit>
#include <cstdint>

namespace banyan::kernels {

// Exact; a NaN stays a NaN.
inline float HalfToFloat(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = (half & 0x7fffU) << 13;
  // The bits of a half, moved to where a float has its own, are the number times 2^-112, where it
  // is subnormal too.
  const float value = std::bit_cast<float>(magnitude) * 0x1p112F;
  const bool finite = magnitude < 0x7c00U << 13;
  return std::bit_cast<float>(sign | (finite ? std::bit_cast<std::uint32_t>(value)  //
                                             : 0x7f800000U | magnitude));
}

// To nearest even; from 65520 on infinity. A NaN stays a NaN, with the upper bits of what it says.
inline std::uint16_t FloatToHalf(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7fffffffU;
  // Half of the last kept bit, less one where that bit is even; a carry runs into the exponent as
  // it should.
  const std::uint32_t normal = (magnitude - (112U << 23) + 0xfffU + (magnitude >> 13 & 1)) >> 13;
  // Beside 0.5 a float has steps of 2^-24, which are those of a subnormal half.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000U;
  const std::uint32_t nan = 0x7e00U | (magnitude >> 13 & 0x3ffU);
  std::uint32_t half = magnitude < 0x38800000U ? subnormal : normal;  // 2^-14
  half = magnitude >= 0x47800000U ? 0x7c00U : half;                   // 2^16
  half = magnitude > 0x7f800000U ? nan : half;
  return static_cast<std::uint16_t>(sign | half);
}

}  // namespace banyan::kernels
