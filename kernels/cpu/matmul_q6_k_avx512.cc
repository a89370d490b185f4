// Matrix products with Q6_K weights: the floats of matmul_q6_k_avx2.cc, sixteen rows at a time:
//   sum = fma(d * input scale, integer, sum)
// where the integer of 32 columns has both their scales.

#include <immintrin.h>

#include "kernels/cpu/avx512.h"
#include "kernels/cpu/units_avx512.h"

namespace banyan::kernels::avx512 {
namespace {

class Q6_K {
 public:
  [[gnu::always_inline]] Q6_K(const std::byte* head, const std::byte* unit) {
    UnpackCodes<kTile>(unit, codes_);
#pragma GCC unroll 2
    for (int g = 0; g < 2; ++g) {
      AddHighBits(Load(unit + kTile.high_at + 64 * g), codes_ + 4 * g);
      scales_[g] = LoadScales(unit + kTile.scales_at + kTileRows * g);
    }
    d_ = LoadHalves(head);
  }

  // Two sums over the 16 columns of a scale, each at most 16 * 32 * 127 = 65024; times the scales
  // (-128..127) at most 2 * 65024 * 128 = 16646144 < 2^24, which a float holds exactly.
  [[gnu::always_inline]] __m512 Add(const QuantBlock& x, __m512 sum) const {
    __m512i first = _mm512_set1_epi32(2 * CentringOf(x, 0));
    __m512i second = _mm512_set1_epi32(2 * CentringOf(x, 1));
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) {
      first = _mm512_dpbusd_epi32(first, codes_[k], Broadcast4(x.q + 4 * k));
      second = _mm512_dpbusd_epi32(second, codes_[4 + k], Broadcast4(x.q + 16 + 4 * k));
    }
    const __m512i integer = _mm512_add_epi32(_mm512_mullo_epi32(first, scales_[0]),
                                             _mm512_mullo_epi32(second, scales_[1]));
    const __m512 scale = _mm512_mul_ps(d_, _mm512_set1_ps(x.scale));
    return _mm512_fmadd_ps(scale, _mm512_cvtepi32_ps(integer), sum);
  }

 private:
  static constexpr TileLayout kTile = kTileQ6_K;

  // Bits 2 k and 2 k + 1 of the high bytes go above the nibbles of columns 4 k .. 4 k + 3.
  [[gnu::always_inline]] static void AddHighBits(__m512i high, __m512i* codes) {
    codes[0] = WithBits(codes[0], _mm512_slli_epi16(high, 4), 48);
    codes[1] = WithBits(codes[1], _mm512_slli_epi16(high, 2), 48);
    codes[2] = WithBits(codes[2], high, 48);
    codes[3] = WithBits(codes[3], _mm512_srli_epi16(high, 2), 48);
  }

  static __m512i LoadScales(const std::byte* at) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }

  Codes codes_;
  __m512i scales_[2];
  __m512 d_;
};

}  // namespace

void MatMulQ6_K(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  UnitProduct<Q6_K, kTileQ6_K>(work, first, last);
}

}  // namespace banyan::kernels::avx512
