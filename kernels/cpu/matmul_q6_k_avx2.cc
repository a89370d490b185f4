// Matrix products with Q6_K weights: a weight is d * scale * (code - 32), with a scale of its row
// and 16 columns. The integer part of 32 columns, scales included, is exact, so its order is free;
// then
//   sum = fma(d * input scale, integer, sum).

#include <immintrin.h>

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/matmul_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

struct Q6_K {
  static constexpr TileLayout kTile = kTileQ6_K;
  static constexpr int kTileBytes = kTile.tile_bytes;
  static constexpr int kUnits = kTile.block / kQuantBlock;
  static constexpr int kInputBytes = kUnits * static_cast<int>(sizeof(QuantBlock));

  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row,
                  Sums<kRows>& sums) {
    const QuantBlock* x = work.quants + row * work.quant_stride;
    for (std::int64_t b = 0; b < work.depth; ++b, tile += kTileBytes) {
      const std::byte* unit = tile + kTile.head_bytes;
      for (int u = 0; u < kUnits; ++u, ++x, unit += kTile.unit_bytes)
#pragma GCC unroll 2
        for (int h = 0; h < kHalves; ++h)
          DotHalf<kRows>(LoadHalves(tile + 16 * h), unit, h, x, work.quant_stride, sums[h]);
    }
  }

  // Half h of a unit. A sum of 16 bits is over the 16 columns of a scale: it starts at -32 times
  // the sum of the q, so that it is one of (code - 32) * q in the end, |sum| <= 4 * 2 * 32 * 127 =
  // 32512
  // <= 32767; on the way it may wrap, which addition modulo 2^16 undoes. A single pair,
  // 2 * 63 * 127 = 16002, does not saturate. Times the scales (-128..127), four such sums are at
  // most 4 * 32512 * 128 = 16646144 < 2^24, which a float holds exactly.
  template <int kRows>
  [[gnu::always_inline]] static inline void DotHalf(__m256 d, const std::byte* unit, int h,
                                                    const QuantBlock* x, std::int64_t stride,
                                                    __m256 (&sums)[kRows]) {
    const __m256i low = _mm256_set1_epi8(15);
    __m256i first[kRows];
    __m256i second[kRows];
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      first[r] = _mm256_slli_epi16(Broadcast4(x[r * stride].centring[0]), 1);
      second[r] = _mm256_slli_epi16(Broadcast4(x[r * stride].centring[1]), 1);
    }
    const __m256i high[2] = {Load(unit + kTile.high_at + 32 * h),
                             Load(unit + kTile.high_at + 64 + 32 * h)};
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const __m256i pairs = Load(unit + 64 * j + 32 * h);
      const __m256i w0 = WithHighBits(_mm256_and_si256(pairs, low), high[0], j);
      const __m256i w1 =
          WithHighBits(_mm256_and_si256(_mm256_srli_epi16(pairs, 4), low), high[1], j);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r) {
        const std::int8_t* q = x[r * stride].q + 4 * j;
        first[r] = _mm256_add_epi16(first[r], _mm256_maddubs_epi16(w0, Broadcast4(q)));
        Pin(first[r]);
        second[r] = _mm256_add_epi16(second[r], _mm256_maddubs_epi16(w1, Broadcast4(q + 16)));
        Pin(second[r]);
      }
    }
    const __m256i scales0 = LoadScales(unit + kTile.scales_at + 8 * h);
    const __m256i scales1 = LoadScales(unit + kTile.scales_at + kTileRows + 8 * h);
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) {
      const __m256i integer = _mm256_add_epi32(_mm256_madd_epi16(first[r], scales0),
                                               _mm256_madd_epi16(second[r], scales1));
      const __m256 scale = _mm256_mul_ps(d, _mm256_broadcast_ss(&x[r * stride].scale));
      sums[r] = _mm256_fmadd_ps(scale, _mm256_cvtepi32_ps(integer), sums[r]);
    }
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
