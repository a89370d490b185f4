// Matrix products with weights of 4, 5 and 8 bits: Q4_0, Q4_1, Q4_K, Q5_0, Q5_1, Q5_K, Q8_0.
//
// The floats of matmul_affine_avx2.cc and matmul_q8_0_avx2.cc, sixteen rows at a time:
//   sum = fma(d * scale, integer, sum)
// with (code - centre) . q as the integer, and where the type has an offset
//   sum = fma(offset, scale * (q[0] + .. + q[31]), sum).
// `vpdpbusd` sums four products of codes and int8 in 32 bits, so that every integer is exact.

#include <immintrin.h>

#include "kernels/cpu/avx512.h"
#include "kernels/cpu/units_avx512.h"

namespace banyan::kernels::avx512 {
namespace {

template <TileLayout kTile>
class Affine {
 public:
  [[gnu::always_inline]] Affine(const std::byte* head, const std::byte* unit) {
    UnpackCodes<kTile>(unit, codes_);
    if constexpr (kTile.low_bits == 8) {
      // int8 w as the code w + 128.
#pragma GCC unroll 8
      for (__m512i& codes : codes_) codes = _mm512_xor_si512(codes, _mm512_set1_epi8(-128));
    }
    if constexpr (kTile.high_bits == 1) AddHighBits(Load(unit + kTile.high_at));
    d_ = LoadHalves(head);
    if constexpr (kTile.scales != 0) d_ = _mm512_mul_ps(d_, LoadBytes(unit + kTile.scales_at));
    if constexpr (kOffset) offset_ = Offset(head, unit);
  }

  [[gnu::always_inline]] __m512 Add(const QuantBlock& x, __m512 sum) const {
    // Two chains, for one of eight would wait for itself.
    __m512i even = Start(x);
    __m512i odd = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (int k = 0; k < kFours; k += 2) {
      even = _mm512_dpbusd_epi32(even, codes_[k], Broadcast4(x.q + 4 * k));
      odd = _mm512_dpbusd_epi32(odd, codes_[k + 1], Broadcast4(x.q + 4 * k + 4));
    }
    const __m512 integer = _mm512_cvtepi32_ps(_mm512_add_epi32(even, odd));
    const __m512 scale = _mm512_mul_ps(d_, _mm512_set1_ps(x.scale));
    sum = _mm512_fmadd_ps(scale, integer, sum);
    if constexpr (kOffset) sum = _mm512_fmadd_ps(offset_, _mm512_set1_ps(x.sum), sum);
    return sum;
  }

 private:
  static constexpr int kCentre = kTile.low_bits == 8 ? 128 : kTile.high_bits == 1 ? 16 : 0;
  static constexpr bool kOffset = kCentre == 0 || kTile.halves == 2;

  // -kCentre times the sum of the q.
  static __m512i Start(const QuantBlock& x) {
    if constexpr (kCentre == 0) return _mm512_setzero_si512();
    return _mm512_set1_epi32(kCentre / 16 * (CentringOf(x, 0) + CentringOf(x, 1)));
  }

  // Bit k of the high bytes is the fifth of columns 4 k .. 4 k + 3.
  [[gnu::always_inline]] void AddHighBits(__m512i high) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) codes_[k] = WithBits(codes_[k], _mm512_slli_epi16(high, 4 - k), 16);
#pragma GCC unroll 4
    for (int k = 4; k < kFours; ++k)
      codes_[k] = WithBits(codes_[k], _mm512_srli_epi16(high, k - 4), 16);
  }

  __m512 Offset(const std::byte* head, const std::byte* unit) const {
    if constexpr (kTile.halves == 1) return _mm512_mul_ps(d_, _mm512_set1_ps(-8.0F));  // Q4_0
    __m512 m = LoadHalves(head + 2 * kTileRows);
    if constexpr (kTile.mins != 0)
      m = _mm512_sub_ps(_mm512_setzero_ps(), _mm512_mul_ps(m, LoadBytes(unit + kTile.mins_at)));
    if constexpr (kCentre != 0) m = _mm512_fmadd_ps(d_, _mm512_set1_ps(kCentre), m);
    return m;
  }

  static __m512 LoadBytes(const std::byte* at) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes));
  }

  Codes codes_;
  __m512 d_;
  __m512 offset_;
};

template <TileLayout kTile>
void AffineProduct(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  UnitProduct<Affine<kTile>, kTile>(work, first, last);
}

}  // namespace

void MatMulQ4_0(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  AffineProduct<kTileQ4_0>(work, first, last);
}

void MatMulQ4_1(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  AffineProduct<kTileQ4_1>(work, first, last);
}

void MatMulQ5_0(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  AffineProduct<kTileQ5_0>(work, first, last);
}

void MatMulQ5_1(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  AffineProduct<kTileQ5_1>(work, first, last);
}

void MatMulQ8_0(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  AffineProduct<kTileQ8_0>(work, first, last);
}

void MatMulQ4_K(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  AffineProduct<kTileQ4_K>(work, first, last);
}

void MatMulQ5_K(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  AffineProduct<kTileQ5_K>(work, first, last);
}

}  // namespace banyan::kernels::avx512
