// Matrix products with Q6_K weights: a weight is d * scale * (code - 32), with a scale of its row
// and 16 columns. The integer part of 32 columns, scales included, is exact, so its order is free;
// then
//   sum = fma(d * input scale, integer, sum).

#include <immintrin.h>

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/matmul_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

struct Q6_K : OfUnits<Q6_K, kTileQ6_K> {
  static constexpr TileLayout kTile = kTileQ6_K;

  // A sum of 16 bits is over the 16 columns of a scale: it starts at -32 times the sum of the q, so
  // that it is one of (code - 32) * q in the end, |sum| <= 4 * 2 * 32 * 127 = 32512 <= 32767; on
  // the way it may wrap, which addition modulo 2^16 undoes. A single pair, 2 * 63 * 127 = 16002,
  // does not saturate. Times the scales (-128..127), four such sums are at most 4 * 32512 * 128 =
  // 16646144 < 2^24, which a float holds exactly.
  template <int kRows>
  [[gnu::always_inline]] static inline void DotUnit(const std::byte* head, const std::byte* unit,
                                                    const QuantBlock* x, std::int64_t stride,
                                                    Sums<kRows>& sums) {
    __m256i integers[kHalves][kRows];
#pragma GCC unroll 2
    for (int g = 0; g < 2; ++g) {
      __m256i run[kHalves][kRows];
      Centre<kRows>(x, stride, g, run);
#pragma GCC unroll 6
      for (int j = 0; j < 4; ++j) {
        __m256i w[kHalves];
#pragma GCC unroll 2
        for (int h = 0; h < kHalves; ++h) w[h] = CodesOf(unit, h, g, j);
#pragma GCC unroll 6
        for (int r = 0; r < kRows; ++r) {
          const __m256i four = Broadcast4(x[r * stride].q + 16 * g + 4 * j);
#pragma GCC unroll 2
          for (int h = 0; h < kHalves; ++h) {
            run[h][r] = _mm256_add_epi16(run[h][r], _mm256_maddubs_epi16(w[h], four));
            Pin(run[h][r]);
          }
        }
      }
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) {
        const __m256i scales = LoadScales(unit + kTile.scales_at + kTileRows * g + 8 * h);
#pragma GCC unroll 6
        for (int r = 0; r < kRows; ++r) {
          const __m256i product = _mm256_madd_epi16(run[h][r], scales);
          integers[h][r] = g == 0 ? product : _mm256_add_epi32(integers[h][r], product);
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

  template <int kRows>
  static void Centre(const QuantBlock* x, std::int64_t stride, int g,
                     __m256i (&run)[kHalves][kRows]) {
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const __m256i start = _mm256_slli_epi16(Broadcast4(x[r * stride].centring[g]), 1);
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) run[h][r] = start;
    }
  }

  // The codes of columns 16 g + 4 j .. 16 g + 4 j + 3: low nibbles where g is 0, else high ones.
  static __m256i CodesOf(const std::byte* unit, int h, int g, int j) {
    const __m256i pairs = Load(unit + 64 * j + 32 * h);
    const __m256i nibbles = g == 0 ? pairs : _mm256_srli_epi16(pairs, 4);
    return WithHighBits(_mm256_and_si256(nibbles, _mm256_set1_epi8(15)),
                        Load(unit + kTile.high_at + 64 * g + 32 * h), j);
  }

  // Bits 2 j and 2 j + 1 of the high bytes go above the nibbles.
  static __m256i WithHighBits(__m256i nibbles, __m256i high, int j) {
    const __m256i moved =
        j < 2 ? _mm256_slli_epi16(high, 4 - 2 * j) : _mm256_srli_epi16(high, 2 * j - 4);
    return _mm256_or_si256(nibbles, _mm256_and_si256(moved, _mm256_set1_epi8(48)));
  }

  // The scales of eight rows, each twice, as 16 bits.
  static __m256i LoadScales(const std::byte* at) {
    const __m256i bytes =
        _mm256_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
    const __m256i above = _mm256_shuffle_epi8(
        bytes, _mm256_setr_epi8(-1, 0, -1, 0, -1, 1, -1, 1, -1, 2, -1, 2, -1, 3, -1, 3,  //
                                -1, 4, -1, 4, -1, 5, -1, 5, -1, 6, -1, 6, -1, 7, -1, 7));
    return _mm256_srai_epi16(above, 8);
  }
};

}  // namespace

void MatMulQ6_K(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Q6_K>(work, first, last);
}

}  // namespace banyan::kernels::avx2
