// IEEE 754 binary16 without the instructions for it. Not for files compiled for one variant.
#pragma once

#include <bit>
#include <cstdint>

namespace banyan::kernels {

// Exact; a NaN stays a NaN.
inline float HalfToFloat(std::uint16_t half) {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t magnitude = half & 0x7fffU;
  if (magnitude >= 0x7c00U)  // infinity or NaN
    return std::bit_cast<float>(sign | 0x7f800000U | (magnitude & 0x3ffU) << 13);
  if (magnitude < 0x0400U) {  // zero or subnormal: a multiple of 2^-24
    const float value = static_cast<float>(magnitude) * 0x1p-24F;
    return sign != 0 ? -value : value;
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + (112U << 23)));
}

}  // namespace banyan::kernels
