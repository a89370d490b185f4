// Matrix products with weights of 4 and 5 bits: Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K.
//
// All are affine: a weight is d * code + m with d and m of its row and 32 columns. The integer part
// of 32 columns is exact, so its order is free; then
//   4 bits  sum = fma(d * scale, code . q, sum)         with the input block's scale and q
//   5 bits  sum = fma(d * scale, (code - 16) . q, sum)
// and, but for Q5_0, where that is all,
//   sum = fma(offset, scale * (q[0] + .. + q[31]), sum)
// with the offset m, or m + 16 d where codes are centred.

#include <immintrin.h>

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/matmul_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

template <TileLayout kTile>
struct Affine : OfUnits<Affine<kTile>, kTile> {
  static constexpr bool kFiveBits = kTile.high_bits == 1;
  static constexpr bool kOffset = !kFiveBits || kTile.halves == 2;

  // Eight products of codes and int8 (-127..127), each a pair, are summed in 16 bits:
  //   4 bits: |sum| <= 8 * 2 * 15 * 127 = 30480 <= 32767
  //   5 bits: the sum starts at -16 times the sum of the q, so that it is one of (code - 16) * q in
  //   the end, |sum| <= 8 * 2 * 16 * 127 = 32512 <= 32767; on the way it may wrap, which addition
  //   modulo 2^16 undoes. A single pair, 2 * 31 * 127 = 7874, does not saturate.
  template <int kRows>
  [[gnu::always_inline]] static inline void DotUnit(const std::byte* head, const std::byte* unit,
                                                    const QuantBlock* x, std::int64_t stride,
                                                    Sums<kRows>& sums) {
    const __m256i low = _mm256_set1_epi8(15);
    __m256i integers[kHalves][kRows];
    if constexpr (kFiveBits) Centre<kRows>(x, stride, integers);
#pragma GCC unroll 6
    for (int j = 0; j < 4; ++j) {
      __m256i pairs[kHalves];
      __m256i w[kHalves];
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) {
        pairs[h] = Load(unit + 64 * j + 32 * h);
        w[h] = WithHighBit(_mm256_and_si256(pairs[h], low), unit, h, j);
      }
      AddProducts<kRows>(w, x, stride, 4 * j, !kFiveBits && j == 0, integers);
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h)
        w[h] = WithHighBit(_mm256_and_si256(_mm256_srli_epi16(pairs[h], 4), low), unit, h, 4 + j);
      AddProducts<kRows>(w, x, stride, 16 + 4 * j, false, integers);
    }
    const __m256i ones = _mm256_set1_epi16(1);
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h) {
      const __m256 d = Scale(head, unit, h);
      const __m256 offset = Offset(d, head, unit, h);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const QuantBlock& block = x[r * stride];
        const __m256 scale = _mm256_mul_ps(d, _mm256_broadcast_ss(&block.scale));
        const __m256 integer = _mm256_cvtepi32_ps(_mm256_madd_epi16(integers[h][r], ones));
        sums[h][r] = _mm256_fmadd_ps(scale, integer, sums[h][r]);
        if constexpr (kOffset)
          sums[h][r] = _mm256_fmadd_ps(offset, _mm256_broadcast_ss(&block.sum), sums[h][r]);
      }
    }
  }

  template <int kRows>
  static void Centre(const QuantBlock* x, std::int64_t stride,
                     __m256i (&integers)[kHalves][kRows]) {
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const QuantBlock& block = x[r * stride];
      const __m256i start =
          _mm256_add_epi16(Broadcast4(block.centring[0]), Broadcast4(block.centring[1]));
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) integers[h][r] = start;
    }
  }

  // The codes of columns 4 k .. 4 k + 3, given their low nibbles: bit k of the high bytes is the
  // fifth.
  static __m256i WithHighBit(__m256i nibbles, const std::byte* unit, int h, int k) {
    if constexpr (!kFiveBits) return nibbles;
    const __m256i high = Load(unit + kTile.high_at + 32 * h);
    const __m256i moved = k < 4 ? _mm256_slli_epi16(high, 4 - k) : _mm256_srli_epi16(high, k - 4);
    return _mm256_or_si256(nibbles, _mm256_and_si256(moved, _mm256_set1_epi8(16)));
  }

  template <int kRows>
  static void AddProducts(const __m256i (&w)[kHalves], const QuantBlock* x, std::int64_t stride,
                          int column, bool first, __m256i (&integers)[kHalves][kRows]) {
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const __m256i four = Broadcast4(x[r * stride].q + column);
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h) {
        const __m256i product = _mm256_maddubs_epi16(w[h], four);
        integers[h][r] = first ? product : _mm256_add_epi16(integers[h][r], product);
        Pin(integers[h][r]);
      }
    }
  }

  // d and m of eight rows. A product of an f16 and six bits is exact.
  static __m256 Scale(const std::byte* head, const std::byte* unit, int h) {
    const __m256 d = LoadHalves(head + 16 * h);
    if constexpr (kTile.scales == 0) return d;
    return _mm256_mul_ps(d, LoadBytes(unit + kTile.scales_at + 8 * h));
  }

  static __m256 Offset(__m256 d, const std::byte* head, const std::byte* unit, int h) {
    if constexpr (kTile.halves == 1) return _mm256_mul_ps(d, _mm256_set1_ps(-8.0F));  // Q4_0
    __m256 m = LoadHalves(head + 2 * kTileRows + 16 * h);
    if constexpr (kTile.mins != 0)
      m = _mm256_sub_ps(_mm256_setzero_ps(),
                        _mm256_mul_ps(m, LoadBytes(unit + kTile.mins_at + 8 * h)));
    if constexpr (kFiveBits) m = _mm256_fmadd_ps(d, _mm256_set1_ps(16.0F), m);
    return m;
  }

  static __m256 LoadBytes(const std::byte* at) {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
    return _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
  }
};

}  // namespace

void MatMulQ4_0(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Affine<kTileQ4_0>>(work, first, last);
}

void MatMulQ4_1(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Affine<kTileQ4_1>>(work, first, last);
}

void MatMulQ5_0(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Affine<kTileQ5_0>>(work, first, last);
}

void MatMulQ5_1(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Affine<kTileQ5_1>>(work, first, last);
}

void MatMulQ4_K(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Affine<kTileQ4_K>>(work, first, last);
}

void MatMulQ5_K(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Affine<kTileQ5_K>>(work, first, last);
}

}  // namespace banyan::kernels::avx2
