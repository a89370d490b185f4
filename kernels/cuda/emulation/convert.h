// Numbers to floats and back, as the device's own conversions do it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/cuda/numbers.h"
#include "kernels/half.h"
#include "kernels/small_floats.h"

namespace banyan::kernels::cuda {

inline float ToFloat(float x) { return x; }
inline float ToFloat(Half x) { return HalfToFloat(x.bits); }
inline float ToFloat(Bf16 x) { return Bf16ToFloat(x.bits); }
inline float ToFloat(Fp8 x) {
  return (x.bits & 0x7fU) == Fp8::kNaN ? std::nanf("") : Fp8InUnits(x.bits) * 256.0F;
}

template <class T>
T Rounded(float x);
template <>
inline float Rounded<float>(float x) {
  return x;
}
template <>
inline Half Rounded<Half>(float x) {
  return {FloatToHalf(x)};
}
template <>
inline Bf16 Rounded<Bf16>(float x) {
  return {FloatToBf16(x)};
}
template <>
inline Fp8 Rounded<Fp8>(float x) {
  return {std::isnan(x) ? Fp8::kNaN : FloatToFp8(x)};
}

template <class T>
std::uint32_t RoundedPair(float low, float high) {
  return static_cast<std::uint32_t>(Rounded<T>(low).bits) |
         static_cast<std::uint32_t>(Rounded<T>(high).bits) << 16;
}

// NOLINTBEGIN: these names are CUDA's
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
// NOLINTEND

}  // namespace banyan::kernels::cuda
