// What rows note of the slots that they see.

#include <immintrin.h>

#include <limits>

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/lanes_avx2.h"
#include "kernels/cpu/math_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

// 2^x for x <= 0, 0 from -127 down; NaN stays NaN. As attend_softmax.h's, but for the fused sums.
Lanes8 Exp2(Lanes8 x) {
  const Lanes8 clamped = Max(Lanes8::Of(-127.0F), x);  // of NaN: the second
  const Lanes8 n = Round(clamped);
  const Lanes8 r = Sub(clamped, n);
  Lanes8 p = Lanes8::Of(1.32694072e-3F);
  constexpr float kNext[] = {9.67129413e-3F, 5.55071123e-2F, 2.40222469e-1F, 6.93147004e-1F, 1.0F};
  for (const float next : kNext) p = Add(Mul(p, r), Lanes8::Of(next));
  const __m256 is_number = _mm256_cmp_ps(x.v, x.v, _CMP_ORD_Q);
  return TimesPowerOf2(p, {_mm256_and_ps(n.v, is_number)});
}

}  // namespace

void ScoreTile(const float* q, int head_dim, const float* tile, const float* factors,
               float* scores) {
  Lanes8 low = Lanes8::Of(0);
  Lanes8 high = Lanes8::Of(0);
  for (int d = 0; d < head_dim; ++d, tile += kTileKeys) {
    const Lanes8 all = Lanes8::Of(q[d]);
    low = Add(low, Mul(all, Lanes8::Load(tile)));
    high = Add(high, Mul(all, Lanes8::Load(tile + Lanes8::kLanes)));
  }
  Put(Mul(Lanes8::Load(factors), low), scores);
  Put(Mul(Lanes8::Load(factors + Lanes8::kLanes), high), scores + Lanes8::kLanes);
}

void AddProbabilities(float* scores, std::int64_t slots, float* probabilities) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::int64_t end = (slots + Lanes8::kLanes - 1) / Lanes8::kLanes * Lanes8::kLanes;
  for (std::int64_t i = slots; i < end; ++i) scores[i] = -kInfinity;
  Lanes8 most = Lanes8::Of(-kInfinity);
  for (std::int64_t i = 0; i < end; i += Lanes8::kLanes) most = Max(Lanes8::Load(scores + i), most);
  const Lanes8 greatest = Lanes8::Of(HorizontalMax(most.v));
  Lanes8 sums = Lanes8::Of(0);
  for (std::int64_t i = 0; i < end; i += Lanes8::kLanes) {
    const Lanes8 power = Exp2(Sub(Lanes8::Load(scores + i), greatest));
    Put(power, scores + i);
    sums = Add(sums, power);
  }
  const float sum = HorizontalSum(sums.v);
  if (!(sum < kInfinity)) return;  // nor NaN
  const Lanes8 share = Lanes8::Of(1.0F / sum);
  for (std::int64_t i = 0; i < end; i += Lanes8::kLanes) {
    const Lanes8 part = Mul(Lanes8::Load(scores + i), share);
    Put(Add(Lanes8::Load(probabilities + i), part), probabilities + i);
  }
}

}  // namespace banyan::kernels::avx2
