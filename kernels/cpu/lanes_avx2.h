// Eight floats as attend_tile.h asks for them; each *.cc file that includes this has its own copy.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/kv_ops.h"
#include "kernels/cpu/math_avx2.h"

namespace banyan::kernels {
namespace {

struct Lanes8 {
  static constexpr int kLanes = 8;

  static Lanes8 OfTwo(float a, float b) { return {_mm256_setr_ps(a, b, 0, 0, 0, 0, 0, 0)}; }
  static Lanes8 Of(float all) { return {_mm256_set1_ps(all)}; }
  static Lanes8 Load(const float* at) { return {_mm256_loadu_ps(at)}; }

  // Eight numbers of a page, over F::kUnit.
  static Lanes8 Widen(F16 /*format*/, const std::uint16_t* at) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)))};
  }
  static Lanes8 Widen(Bf16 /*format*/, const std::uint16_t* at) {
    const __m128i eight = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(eight), 16))};
  }
  // The bits of a code, moved to where f16 has its own.
  static Lanes8 Widen(Fp8 /*format*/, const std::uint8_t* at) {
    const __m128i moved = _mm_slli_epi16(_mm_cvtepi8_epi16(LoadBytes(at)), 7);
    const __m128i others = _mm_set1_epi16(static_cast<short>(0xbf80));
    return {_mm256_cvtph_ps(_mm_and_si128(moved, others))};
  }
  static Lanes8 Widen(Int8 /*format*/, const std::int8_t* at) {
    return {_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(LoadBytes(at)))};
  }

  // Eight codes of 4 bits, of the high nibbles or the low ones.
  template <bool kHigh>
  static Lanes8 Codes(const std::byte* at) {
    const __m256i bytes = _mm256_cvtepu8_epi32(LoadBytes(at));
    if constexpr (kHigh) return {_mm256_cvtepi32_ps(_mm256_srli_epi32(bytes, 4))};
    return {_mm256_cvtepi32_ps(_mm256_and_si256(bytes, _mm256_set1_epi32(15)))};
  }

  // x; NaN where one of eight numbers is a NaN that Widen would not show.
  template <class F>
  static Lanes8 OrNaN(F /*format*/, Lanes8 x, const typename F::Number* /*at*/) {
    return x;
  }
  static Lanes8 OrNaN(Fp8 /*format*/, Lanes8 x, const std::uint8_t* at) {
    const __m128i negative = _mm_or_si128(LoadBytes(at), _mm_set1_epi8(-128));
    const __m128i is_nan = _mm_cmpeq_epi8(negative, _mm_set1_epi8(-1));
    return {_mm256_or_ps(x.v, _mm256_castsi256_ps(_mm256_cvtepi8_epi32(is_nan)))};
  }

  static __m128i LoadBytes(const void* at) {
    return _mm_loadl_epi64(static_cast<const __m128i*>(at));
  }

  __m256 v;
};

inline Lanes8 Fma(Lanes8 a, Lanes8 b, Lanes8 c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
inline Lanes8 Add(Lanes8 a, Lanes8 b) { return {_mm256_add_ps(a.v, b.v)}; }
inline Lanes8 Sub(Lanes8 a, Lanes8 b) { return {_mm256_sub_ps(a.v, b.v)}; }
inline Lanes8 Mul(Lanes8 a, Lanes8 b) { return {_mm256_mul_ps(a.v, b.v)}; }
inline Lanes8 Max(Lanes8 a, Lanes8 b) { return {_mm256_max_ps(a.v, b.v)}; }
inline void Put(Lanes8 a, float* to) { _mm256_storeu_ps(to, a.v); }
inline Lanes8 Round(Lanes8 a) {
  return {_mm256_round_ps(a.v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
}
// a * 2^n; 0 for n = -127.
inline Lanes8 TimesPowerOf2(Lanes8 a, Lanes8 n) {
  const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n.v), 23);
  return {_mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a.v), exponent))};
}

// Lanes first .. last - 1 of x, -infinity elsewhere.
inline Lanes8 Between(Lanes8 x, int first, int last) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i before = _mm256_cmpgt_epi32(_mm256_set1_epi32(first), lanes);
  const __m256i seen = _mm256_cmpgt_epi32(_mm256_set1_epi32(last), lanes);
  return {_mm256_blendv_ps(_mm256_set1_ps(-__builtin_inff()), x.v,
                           _mm256_castsi256_ps(_mm256_andnot_si256(before, seen)))};
}

inline float HorizontalMax(const Lanes8 (&v)[2]) {
  return avx2::HorizontalMax(_mm256_max_ps(v[0].v, v[1].v));
}
inline float HorizontalSum(const Lanes8 (&v)[2]) {
  return avx2::HorizontalSum(_mm256_add_ps(v[0].v, v[1].v));
}

}  // namespace
}  // namespace banyan::kernels
