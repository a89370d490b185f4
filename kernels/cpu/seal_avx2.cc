// Tiles of keys and values in 4 bits.

#include <immintrin.h>

#include "kernels/cpu/avx2.h"

namespace banyan::kernels::avx2 {
namespace {

constexpr std::uint16_t kHalfNaN = 0x7e00;

// 8 * kVectors halves as floats.
template <int kVectors>
struct Halves {
  explicit Halves(const std::uint16_t* at) {
    __m128i broken = _mm_setzero_si128();
    for (int i = 0; i < kVectors; ++i) {
      const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 8 * i));
      const __m128i magnitude = _mm_and_si128(eight, _mm_set1_epi16(0x7fff));
      broken = _mm_or_si128(broken, _mm_cmpgt_epi16(magnitude, _mm_set1_epi16(0x7bff)));
      v[i] = _mm256_cvtph_ps(eight);
    }
    finite = _mm_movemask_epi8(broken) == 0;
    __m256 low = v[0];
    __m256 high = v[0];
    for (int i = 1; i < kVectors; ++i) {
      low = _mm256_min_ps(low, v[i]);
      high = _mm256_max_ps(high, v[i]);
    }
    __m128 least4 = _mm_min_ps(_mm256_castps256_ps128(low), _mm256_extractf128_ps(low, 1));
    __m128 greatest4 = _mm_max_ps(_mm256_castps256_ps128(high), _mm256_extractf128_ps(high, 1));
    least4 = _mm_min_ps(least4, _mm_movehl_ps(least4, least4));
    greatest4 = _mm_max_ps(greatest4, _mm_movehl_ps(greatest4, greatest4));
    least = _mm_cvtss_f32(_mm_min_ss(least4, _mm_movehdup_ps(least4)));
    greatest = _mm_cvtss_f32(_mm_max_ss(greatest4, _mm_movehdup_ps(greatest4)));
  }

  // x / scale to nearest even, and `zero`, within the codes: sixteen bytes of vectors i and i + 1.
  __m128i Codes(int i, float scale, int zero) const {
    const auto words = [&](__m256 x) {
      __m256i code = _mm256_cvtps_epi32(_mm256_div_ps(x, _mm256_set1_ps(scale)));
      code = _mm256_add_epi32(code, _mm256_set1_epi32(zero));
      code = _mm256_max_epi32(code, _mm256_setzero_si256());
      code = _mm256_min_epi32(code, _mm256_set1_epi32(kGreatestCode));
      return _mm_packs_epi32(_mm256_castsi256_si128(code), _mm256_extracti128_si256(code, 1));
    };
    return _mm_packus_epi16(words(v[i]), words(v[i + 1]));
  }

  __m256 v[kVectors];
  float least;  // of finite ones
  float greatest;
  bool finite;
};

struct Scale {
  std::uint16_t half;
  float value;
};
Scale ToHalf(float x) {
  const __m128i half = _mm_cvtps_ph(_mm_set_ss(x), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  return {static_cast<std::uint16_t>(_mm_extract_epi16(half, 0)),
          _mm_cvtss_f32(_mm_cvtph_ps(half))};
}

// Those of `low` in the low nibbles.
void PutCodes(__m128i low, __m128i high, std::byte* at) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(at), _mm_or_si128(low, _mm_slli_epi16(high, 4)));
}

// The codes of dimension d.
__m128i SealDimension(const std::uint16_t* keys, int d, const SealedKeys& out) {
  const Halves<2> x(keys);
  const float most = x.greatest > -x.least ? x.greatest : -x.least;
  const float step = (x.greatest - x.least) / kGreatestCode;
  Scale scale = ToHalf(most / 127.0F > step ? most / 127.0F : step);
  scale.half &= 0x7fff;
  out.zeros[d] = 0;
  out.scales[d] = x.finite ? scale.half : kHalfNaN;
  if (!x.finite || scale.half == 0) return _mm_setzero_si128();
  int zero = _mm_cvtss_si32(_mm_set_ss(-x.least / scale.value));
  zero = zero < -127 ? -127 : zero;
  zero = zero > 127 ? 127 : zero;
  out.zeros[d] = static_cast<std::int8_t>(zero);
  return x.Codes(0, scale.value, zero);
}

}  // namespace

void SealKeys(const std::uint16_t* keys, int head_dim, const SealedKeys& out) {
  for (int d = 0; d < head_dim; d += 2) {
    const __m128i even = SealDimension(keys + d * kTileKeys, d, out);
    const __m128i odd = SealDimension(keys + (d + 1) * kTileKeys, d + 1, out);
    PutCodes(even, odd, out.codes + d * kKeyTileDimBytes);
  }
}

void SealValues(const std::uint16_t* values, int head_dim, const SealedValues& out) {
  std::byte* codes = out.codes;
  for (int i = 0; i < kTileKeys; ++i) {
    for (int d = 0; d < head_dim; d += kSealedDims) {
      const Halves<4> x(values);
      Scale scale = ToHalf((x.greatest >= -x.least ? x.greatest : x.least) / -8.0F);
      if ((scale.half & 0x7fff) == 0) scale.half = 0;
      out.scales[d / kSealedDims * kTileKeys + i] = x.finite ? scale.half : kHalfNaN;
      if (x.finite && scale.half != 0) {
        PutCodes(x.Codes(0, scale.value, kValueZero), x.Codes(2, scale.value, kValueZero), codes);
      } else {
        PutCodes(_mm_set1_epi8(kValueZero), _mm_set1_epi8(kValueZero), codes);
      }
      values += kSealedDims;
      codes += kSealedDims / 2;
    }
  }
}

}  // namespace banyan::kernels::avx2
