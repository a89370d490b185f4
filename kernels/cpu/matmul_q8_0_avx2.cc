// Matrix products with Q8_0 weights. The integer part of a block of 32 columns is exact, so its
// order is free; then sum = fma(d * scale, integer, sum).

#include <immintrin.h>

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/matmul_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

struct Q8_0 : OfUnits<Q8_0, kTileQ8_0> {
  // |w| (0..128, as unsigned) times x with w's sign: a pair is at most 2 * 128 * 127 = 32512, so
  // the 16-bit sum of one pair never saturates; pairs add up in 32 bits. w = -128 needs no care:
  // its |w| is 128 unsigned, and only x (never -128) is negated.
  template <int kRows>
  [[gnu::always_inline]] static inline void DotUnit(const std::byte* head, const std::byte* unit,
                                                    const QuantBlock* x, std::int64_t stride,
                                                    Sums<kRows>& sums) {
    const __m256i ones = _mm256_set1_epi16(1);
    __m256i integers[kHalves][kRows];
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) {
      __m256i w[kHalves];
      __m256i magnitude[kHalves];
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) {
        w[h] = Load(unit + 64 * j + 32 * h);
        magnitude[h] = Magnitude(w[h]);
      }
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const __m256i four = Broadcast4(x[r * stride].q + 4 * j);
#pragma GCC unroll 2
        for (int h = 0; h < kHalves; ++h) {
          const __m256i pairs = _mm256_maddubs_epi16(magnitude[h], _mm256_sign_epi8(four, w[h]));
          const __m256i product = _mm256_madd_epi16(pairs, ones);
          integers[h][r] = j == 0 ? product : _mm256_add_epi32(integers[h][r], product);
          Pin(integers[h][r]);
        }
      }
    }
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) {
      const __m256 d = LoadHalves(head + 16 * h);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const __m256 scale = _mm256_mul_ps(d, _mm256_broadcast_ss(&x[r * stride].scale));
        sums[h][r] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(integers[h][r]), sums[h][r]);
      }
    }
  }

  // As unsigned bytes, w or -w is the lesser. `abs` would compete with the multiplications for
  // their units.
  static __m256i Magnitude(__m256i w) {
    return _mm256_min_epu8(w, _mm256_sub_epi8(_mm256_setzero_si256(), w));
  }
};

}  // namespace

void MatMulQ8_0(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Q8_0>(work, first, last);
}

}  // namespace banyan::kernels::avx2
