// bfloat16 and e4m3 (OCP 8-bit floating point specification 1.0: 4 bits of exponent, 3 of mantissa,
// subnormals, NaN but no infinity) without instructions for them. Not for files compiled for one
// variant.
#pragma once

#include <bit>
#include <cstdint>

namespace banyan::kernels {

inline float Bf16ToFloat(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

// To nearest even. A NaN stays a NaN.
inline std::uint16_t FloatToBf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1)) >> 16;
  const std::uint32_t nan = bits >> 16 | 0x40U;
  return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? nan : rounded);
}

// A code's number / 256, which is what f16 would make of its bits; of the codes of NaN (0x7f and
// 0xff) it makes that of +-480.
inline float Fp8InUnits(std::uint8_t code) {
  const std::uint32_t sign = (code & 0x80U) << 24;
  // The bits of a code, moved to where a float has its own, are the number times 2^-120, where it
  // is subnormal too.
  const float value = std::bit_cast<float>((code & 0x7fU) << 20) * 0x1p112F;
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
}

// To nearest even, what is above 448 to that. Not for infinity and NaN.
inline std::uint8_t FloatToFp8(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  std::uint32_t magnitude = bits & 0x7fffffffU;
  magnitude = magnitude > 0x43e00000U ? 0x43e00000U : magnitude;  // 448
  // Half of the last kept bit, less one where that bit is even; a carry runs into the exponent as
  // it should.
  const std::uint32_t normal = (magnitude - (120U << 23) + 0x7ffffU + (magnitude >> 20 & 1)) >> 20;
  // Beside 2^14 a float has steps of 2^-9, which are those of a subnormal code.
  const std::uint32_t subnormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0x1p14F) - 0x46800000U;
  const std::uint32_t code = magnitude < 0x3c800000U ? subnormal : normal;  // 2^-6
  return static_cast<std::uint8_t>((bits >> 24 & 0x80U) | code);
}

}  // namespace banyan::kernels
