// What tokens weigh in a draw: exp((logit - greatest) / temperature), by the plain arithmetic of
// model/logit_math.cc, to its bits.
#pragma once

#include "kernels/cuda/device.h"

namespace banyan::kernels::cuda {

// exp(x) for x <= 0, within 3 units in the last place; 0 from about -87.7 on. Cody & Waite's
// argument reduction: x = n ln 2 + r, |r| <= ln(2) / 2.
__device__ __forceinline__ float ExpOfWeight(float x) {
  constexpr float kLowest = -88.0F;
  constexpr float kRound = 0x1.8p23F;  // adding and subtracting it rounds to an integer
  x = x < kLowest ? kLowest : x;
  const float n = (x * 1.44269504F + kRound) - kRound;
  const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  // 2^n by its exponent field, which n = -127 makes that of 0.
  const int exponent = static_cast<int>(n) + 127;
  return p * __uint_as_float(static_cast<unsigned>(exponent) << 23);
}

__device__ __forceinline__ float WeightOf(float logit, float greatest, float temperature) {
  return ExpOfWeight((logit - greatest) / temperature);
}

}  // namespace banyan::kernels::cuda
