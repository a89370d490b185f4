// What a query makes of the bounds of a page's keys.

#include <immintrin.h>

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/lanes_avx2.h"
#include "kernels/cpu/math_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

// `sum` and the scores of kQueries queries from number `first` on, which read a bound once.
template <int kQueries>
float AddScores(const BoundQueries& queries, int first, const std::uint16_t* least,
                const std::uint16_t* greatest, float sum) {
  const int dims = queries.head_dim;
  const float* above = queries.above + first * dims;
  const float* below = queries.below + first * dims;
  __m256 sums[kQueries];
  for (__m256& lanes : sums) lanes = _mm256_setzero_ps();
  for (int d = 0; d < dims; d += Lanes8::kLanes) {
    const Lanes8 low = Lanes8::Widen(Bf16(), least + d);
    const Lanes8 high = Lanes8::Widen(Bf16(), greatest + d);
    for (int i = 0; i < kQueries; ++i) {
      const Lanes8 up = Mul(Lanes8::Load(above + i * dims + d), high);
      const Lanes8 down = Mul(Lanes8::Load(below + i * dims + d), low);
      sums[i] = _mm256_add_ps(sums[i], Add(up, down).v);
    }
  }
  for (const __m256& lanes : sums) sum += HorizontalSum(lanes);
  return sum;
}

}  // namespace

float ScoreBounds(const BoundQueries& queries, const std::uint16_t* least,
                  const std::uint16_t* greatest) {
  float sum = 0;
  int first = 0;
  for (; queries.count - first >= 4; first += 4)
    sum = AddScores<4>(queries, first, least, greatest, sum);
  switch (queries.count - first) {
    case 1:
      sum = AddScores<1>(queries, first, least, greatest, sum);
      break;
    case 2:
      sum = AddScores<2>(queries, first, least, greatest, sum);
      break;
    case 3:
      sum = AddScores<3>(queries, first, least, greatest, sum);
      break;
    default:
      break;
  }
  return sum - sum == 0.0F ? sum : __builtin_inff();
}

}  // namespace banyan::kernels::avx2
