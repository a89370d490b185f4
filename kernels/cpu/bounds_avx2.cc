// What a query makes of the bounds of a page's keys.

#include <immintrin.h>

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/lanes_avx2.h"
#include "kernels/cpu/math_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

// The greatest of the scores of kQueries queries from number `first` on, which read a bound once.
template <int kQueries>
float Score(const BoundQueries& queries, int first, const std::uint16_t* least,
            const std::uint16_t* greatest) {
  const int dims = queries.head_dim;
  const float* above = queries.above + first * dims;
  const float* below = queries.below + first * dims;
  __m256 sums[kQueries];
  for (__m256& sum : sums) sum = _mm256_setzero_ps();
  for (int d = 0; d < dims; d += Lanes8::kLanes) {
    const Lanes8 low = Lanes8::Widen(Bf16(), least + d);
    const Lanes8 high = Lanes8::Widen(Bf16(), greatest + d);
    for (int i = 0; i < kQueries; ++i) {
      const Lanes8 up = Mul(Lanes8::Load(above + i * dims + d), high);
      const Lanes8 down = Mul(Lanes8::Load(below + i * dims + d), low);
      sums[i] = _mm256_add_ps(sums[i], Add(up, down).v);
    }
  }
  float best = -__builtin_inff();
  for (const __m256& lanes : sums) {
    const float sum = HorizontalSum(lanes);
    const float score = sum - sum == 0.0F ? sum : __builtin_inff();
    best = score > best ? score : best;
  }
  return best;
}

}  // namespace

float ScoreBounds(const BoundQueries& queries, const std::uint16_t* least,
                  const std::uint16_t* greatest) {
  float best = -__builtin_inff();
  for (int first = 0; first < queries.count;) {
    float score = 0;
    switch (queries.count - first) {
      case 1:
        score = Score<1>(queries, first, least, greatest);
        first += 1;
        break;
      case 2:
        score = Score<2>(queries, first, least, greatest);
        first += 2;
        break;
      case 3:
        score = Score<3>(queries, first, least, greatest);
        first += 3;
        break;
      default:
        score = Score<4>(queries, first, least, greatest);
        first += 4;
    }
    best = score > best ? score : best;
  }
  return best;
}

}  // namespace banyan::kernels::avx2
