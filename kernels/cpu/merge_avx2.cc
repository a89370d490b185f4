// How results of chunks of keys become one.

#include <immintrin.h>

#include "kernels/cpu/attend_softmax.h"
#include "kernels/cpu/avx2.h"
#include "kernels/cpu/lanes_avx2.h"

namespace banyan::kernels::avx2 {

void Merge(const float* partial, int head_dim, float* state) {
  const Factors factors = MergeHeads<Lanes8>(partial[0], partial[1], state);
  const Lanes8 keep = Lanes8::Of(factors.keep);
  const Lanes8 take = Lanes8::Of(factors.take);
  for (int d = kPartialHeader; d < kPartialHeader + head_dim; d += Lanes8::kLanes)
    Put(Fma(Lanes8::Load(partial + d), take, Mul(Lanes8::Load(state + d), keep)), state + d);
}

void Finish(const float* state, int head_dim, float* out) {
  const __m256 sum = _mm256_set1_ps(state[1]);
  for (int d = 0; d < head_dim; d += 8)
    _mm256_storeu_ps(out + d, _mm256_div_ps(_mm256_loadu_ps(state + kPartialHeader + d), sum));
}

}  // namespace banyan::kernels::avx2
