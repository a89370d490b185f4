// Keys and values as pages keep them.

#include <immintrin.h>

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/lanes_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

constexpr int kInfinity = 0x7f800000;  // as a float

// The lower eight words of two vectors of four, each 0..65535.
__m128i Words(__m256i x) {
  return _mm_packus_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}

__m256i Bits(const float* x) { return _mm256_castps_si256(_mm256_loadu_ps(x)); }
__m256i Magnitude(__m256i bits) { return _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff)); }

// As the integer that represents it: infinity is above all numbers and NaN above infinity.
int GreatestMagnitude(const float* x, std::int64_t n) {
  __m256i most = _mm256_setzero_si256();
  for (std::int64_t i = 0; i < n; i += 8) most = _mm256_max_epi32(most, Magnitude(Bits(x + i)));
  __m128i four = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
  four = _mm_max_epi32(four, _mm_shuffle_epi32(four, 0x4e));
  return _mm_cvtsi128_si32(_mm_max_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

// See small_floats.h; each in 0..255.
__m256i ToFp8(__m256i bits) {
  const __m256i magnitude = _mm256_min_epi32(Magnitude(bits), _mm256_set1_epi32(0x43e00000));
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(magnitude, 20), _mm256_set1_epi32(1));
  const __m256i bias = _mm256_set1_epi32(0x7ffff - (120 << 23));
  const __m256i normal =
      _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(magnitude, odd), bias), 20);
  const __m256 steps = _mm256_add_ps(_mm256_castsi256_ps(magnitude), _mm256_set1_ps(0x1p14F));
  const __m256i subnormal =
      _mm256_sub_epi32(_mm256_castps_si256(steps), _mm256_set1_epi32(0x46800000));
  const __m256i small = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x3c800000), magnitude);
  const __m256i sign = _mm256_and_si256(_mm256_srli_epi32(bits, 24), _mm256_set1_epi32(0x80));
  return _mm256_or_si256(sign, _mm256_blendv_epi8(normal, subnormal, small));
}

template <class F>
void Widen(const std::byte* numbers, std::int64_t n, float* out) {
  const auto* from = reinterpret_cast<const typename F::Number*>(numbers);
  for (std::int64_t i = 0; i < n; i += Lanes8::kLanes) Put(Lanes8::Widen(F(), from + i), out + i);
}

}  // namespace

void StoreF16(const float* x, std::int64_t n, std::byte* out, std::uint16_t* /*scale*/) {
  for (std::int64_t i = 0; i < n; i += 8)
    _mm_storeu_si128(
        reinterpret_cast<__m128i*>(out + 2 * i),
        _mm256_cvtps_ph(_mm256_loadu_ps(x + i), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

void StoreBf16(const float* x, std::int64_t n, std::byte* out, std::uint16_t* /*scale*/) {
  for (std::int64_t i = 0; i < n; i += 8) {
    const __m256i bits = Bits(x + i);
    const __m256i high = _mm256_srli_epi32(bits, 16);
    const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(_mm256_add_epi32(bits, odd), _mm256_set1_epi32(0x7fff)), 16);
    const __m256i nan = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
    const __m256i is_nan = _mm256_cmpgt_epi32(Magnitude(bits), _mm256_set1_epi32(kInfinity));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + 2 * i),
                     Words(_mm256_blendv_epi8(rounded, nan, is_nan)));
  }
}

void StoreFp8(const float* x, std::int64_t n, std::byte* out, std::uint16_t* /*scale*/) {
  const bool finite = GreatestMagnitude(x, n) < kInfinity;
  const __m128i nan = _mm_set1_epi8(Fp8::kNaN);
  for (std::int64_t i = 0; i < n; i += 8) {
    const __m128i words = Words(ToFp8(Bits(x + i)));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + i),
                     finite ? _mm_packus_epi16(words, words) : nan);
  }
}

void StoreInt8(const float* x, std::int64_t n, std::byte* out, std::uint16_t* scale) {
  constexpr int kHalfInfinity = 0x7c00;
  constexpr int kHalfNaN = 0x7e00;
  const __m128 greatest = _mm_castsi128_ps(_mm_cvtsi32_si128(GreatestMagnitude(x, n)));
  const __m128i rounded = _mm_cvtps_ph(_mm_div_ss(greatest, _mm_set_ss(127.0F)),
                                       _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  const int half = _mm_extract_epi16(rounded, 0);
  const bool codes = half != 0 && half < kHalfInfinity;
  *scale = static_cast<std::uint16_t>(half < kHalfInfinity ? half : kHalfNaN);
  const __m256 step = _mm256_broadcastss_ps(_mm_cvtph_ps(rounded));
  for (std::int64_t i = 0; i < n; i += 8) {
    const __m256i code = _mm256_cvtps_epi32(_mm256_div_ps(_mm256_loadu_ps(x + i), step));
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(code), _mm256_extracti128_si256(code, 1));
    const __m128i bytes = _mm_max_epi8(_mm_packs_epi16(words, words), _mm_set1_epi8(-127));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out + i), codes ? bytes : _mm_setzero_si128());
  }
}

void WidenF16(const std::byte* numbers, std::int64_t n, float* out) { Widen<F16>(numbers, n, out); }
void WidenBf16(const std::byte* numbers, std::int64_t n, float* out) {
  Widen<Bf16>(numbers, n, out);
}
void WidenFp8(const std::byte* numbers, std::int64_t n, float* out) { Widen<Fp8>(numbers, n, out); }
void WidenInt8(const std::byte* numbers, std::int64_t n, float* out) {
  Widen<Int8>(numbers, n, out);
}

}  // namespace banyan::kernels::avx2
