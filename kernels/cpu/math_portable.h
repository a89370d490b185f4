// Functions of single values and of eight lanes that several *_portable.cc files share.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace banyan::kernels::portable {

// a * b + c, rounded once: std::fma's bits, without its call into a library where the processor has
// no instruction for it. The product is exact in double. The sum is rounded to odd, which leaves
// enough of what it lost for the second rounding, to float, to be the right one: Boldo & Melquiond,
// "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd", 2008.
inline float Fma(float a, float b, float c) {
#ifdef __FP_FAST_FMAF
  return std::fma(a, b, c);
#else
  const double product = static_cast<double>(a) * b;
  const double sum = product + c;
  // Knuth's TwoSum: exactly what `sum` lost; NaN where it is infinite.
  const double c_part = sum - product;
  const double lost = (product - (sum - c_part)) + (c - c_part);
  // From an even sum to the odd one on the side of the exact sum. No product of the two is too
  // small or too large for a double.
  const double outward = lost * sum;
  std::int64_t step = outward > 0 ? 1 : 0;
  step = outward < 0 ? -1 : step;
  const auto bits = std::bit_cast<std::int64_t>(sum);
  const std::int64_t if_even = (bits & 1) - 1;
  return static_cast<float>(std::bit_cast<double>(bits + (step & if_even)));
#endif
}

// The second where they are equal or one is NaN.
inline float Greater(float a, float b) { return a > b ? a : b; }
inline float Lesser(float a, float b) { return a < b ? a : b; }

inline constexpr int kLanes = 8;

// Eight lanes to one value, by one fixed tree: ((0+4)+(2+6)) + ((1+5)+(3+7)).
inline float HorizontalSum(const float (&v)[kLanes]) {
  return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]));
}
inline float HorizontalMax(const float (&v)[kLanes]) {
  return Greater(Greater(Greater(v[0], v[4]), Greater(v[2], v[6])),
                 Greater(Greater(v[1], v[5]), Greater(v[3], v[7])));
}

// exp(x) within 2 units in the last place where the result is normal; 0 below, infinity above
// 88.376; exp(0) is 1; NaN stays NaN. Cody & Waite's reduction to |r| <= ln(2) / 2, then the
// polynomial of Cephes' expf (S. Moshier), https://www.netlib.org/cephes/.
inline float Exp(float x) {
  constexpr float kLowest = -87.336544F;  // ln(2^-126)
  constexpr float kHighest = 88.376262F;  // ln(2^127.5)
  const float clamped = Lesser(kHighest, Greater(kLowest, x));
  const float n = std::nearbyint(clamped * 1.44269504F);
  float r = Fma(-n, 0.693359375F, clamped);
  r = Fma(-n, -2.12194440e-4F, r);

  float p = 1.9875691500e-4F;
  p = Fma(p, r, 1.3981999507e-3F);
  p = Fma(p, r, 8.3334519073e-3F);
  p = Fma(p, r, 4.1665795894e-2F);
  p = Fma(p, r, 1.6666665459e-1F);
  p = Fma(p, r, 5.0000001201e-1F);
  p = Fma(p, r * r, r) + 1.0F;

  const std::int32_t exponent = static_cast<std::int32_t>(x == x ? n : 0.0F) + 127;
  const float power = std::bit_cast<float>(exponent << 23);
  const float y = x < kLowest ? 0.0F : p * power;
  return x > kHighest ? std::numeric_limits<float>::infinity() : y;
}

// 2^x for x <= 0: within 2 units in the last place down to -126, 0 from -127 down, something
// between between them; 2^0 is 1; NaN stays NaN. The polynomial has the least relative error,
// 2^-23.3, on |r| <= 1/2 of those of its degree that are 1 at 0.
inline float Exp2(float x) {
  const float clamped = Greater(-127.0F, x);
  const float n = std::nearbyint(clamped);
  const float r = clamped - n;
  float p = 1.32694072e-3F;
  p = Fma(p, r, 9.67129413e-3F);
  p = Fma(p, r, 5.55071123e-2F);
  p = Fma(p, r, 2.40222469e-1F);
  p = Fma(p, r, 6.93147004e-1F);
  p = Fma(p, r, 1.0F);
  const auto exponent = static_cast<std::int32_t>(x == x ? n : 0.0F);
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(p) + exponent * (1 << 23));
}

}  // namespace banyan::kernels::portable
