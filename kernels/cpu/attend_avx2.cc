// Attention over one chunk of keys with AVX2: attend_tile.h with eight lanes.

#include <immintrin.h>

#include "kernels/cpu/attend_tile.h"
#include "kernels/cpu/avx2.h"
#include "kernels/cpu/lanes_avx2.h"

namespace banyan::kernels::avx2 {

namespace {

// Tiles of 8 to 12 sums: what two multiply-adds per cycle of latency 4 ask for, and what sixteen
// registers hold.
template <class F>
void Attend(const AttendWork& work) {
  static constexpr Tile kTiles[] = {AttendTile<Lanes8, F, 1, 8>, AttendTile<Lanes8, F, 2, 4>,
                                    AttendTile<Lanes8, F, 3, 4>, AttendTile<Lanes8, F, 4, 2>,
                                    AttendTile<Lanes8, F, 5, 2>, AttendTile<Lanes8, F, 6, 2>};
  AttendTiles(kTiles, work);
}

}  // namespace

void AttendF16(const AttendWork& work) { Attend<F16>(work); }
void AttendBf16(const AttendWork& work) { Attend<Bf16>(work); }
void AttendFp8(const AttendWork& work) { Attend<Fp8>(work); }
void AttendInt8(const AttendWork& work) { Attend<Int8>(work); }

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
