// What rows note of the slots that they see.

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernels/cpu/portable.h"

namespace banyan::kernels::portable {
namespace {

constexpr int kLanes = 8;

// 2^x for x <= 0, 0 from -127 down; NaN stays NaN. As math_portable.h's, but for the fused sums.
float Exp2(float x) {
  const float clamped = -127.0F > x ? -127.0F : x;
  const float n = std::nearbyint(clamped);
  const float r = clamped - n;
  float p = 1.32694072e-3F;
  p = p * r + 9.67129413e-3F;
  p = p * r + 5.55071123e-2F;
  p = p * r + 2.40222469e-1F;
  p = p * r + 6.93147004e-1F;
  p = p * r + 1.0F;
  const auto exponent = static_cast<std::int32_t>(x == x ? n : 0.0F);
  return std::bit_cast<float>(std::bit_cast<std::int32_t>(p) + exponent * (1 << 23));
}

// By one fixed tree.
template <class F>
float OfLanes(const float (&v)[kLanes], const F& f) {
  return f(f(f(v[0], v[4]), f(v[2], v[6])), f(f(v[1], v[5]), f(v[3], v[7])));
}

}  // namespace

void ScoreTile(const float* q, int head_dim, const float* tile, const float* factors,
               float* scores) {
  float sums[kTileKeys] = {};
  for (int d = 0; d < head_dim; ++d, tile += kTileKeys)
    for (int i = 0; i < kTileKeys; ++i) sums[i] += q[d] * tile[i];
  for (int i = 0; i < kTileKeys; ++i) scores[i] = factors[i] * sums[i];
}

void AddProbabilities(float* scores, std::int64_t slots, float* probabilities) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::int64_t end = (slots + kLanes - 1) / kLanes * kLanes;
  std::fill(scores + slots, scores + end, -kInfinity);
  const auto greater = [](float a, float b) { return a > b ? a : b; };
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, -kInfinity);
  for (std::int64_t i = 0; i < end; i += kLanes)
    for (int j = 0; j < kLanes; ++j) lanes[j] = greater(scores[i + j], lanes[j]);
  const float greatest = OfLanes(lanes, greater);
  std::fill_n(lanes, kLanes, 0.0F);
  for (std::int64_t i = 0; i < end; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) {
      scores[i + j] = Exp2(scores[i + j] - greatest);
      lanes[j] += scores[i + j];
    }
  }
  const float sum = OfLanes(lanes, [](float a, float b) { return a + b; });
  if (!(sum < kInfinity)) return;  // nor NaN
  const float share = 1.0F / sum;
  for (std::int64_t i = 0; i < slots; ++i) probabilities[i] += scores[i] * share;
}

}  // namespace banyan::kernels::portable
