// Sixteen floats as the products of attend_tile.h ask for them; each *.cc file that includes this
// has its own copy.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/kv_ops.h"

namespace banyan::kernels {
namespace {

struct Lanes16 {
  static constexpr int kLanes = 16;

  static Lanes16 Of(float all) { return {_mm512_set1_ps(all)}; }
  static Lanes16 Load(const float* at) { return {_mm512_loadu_ps(at)}; }

  // Sixteen numbers of a page, over F::kUnit: see lanes_avx2.h. Halves (F16) are scales.
  static Lanes16 Widen(F16 /*format*/, const std::uint16_t* at) {
    return {_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)))};
  }
  static Lanes16 Widen(Bf16 /*format*/, const std::uint16_t* at) {
    const __m256i sixteen = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(sixteen), 16))};
  }
  static Lanes16 Widen(Fp8 /*format*/, const std::uint8_t* at) {
    const __m256i moved = _mm256_slli_epi16(_mm256_cvtepi8_epi16(LoadBytes(at)), 7);
    const __m256i others = _mm256_set1_epi16(static_cast<short>(0xbf80));
    return {_mm512_cvtph_ps(_mm256_and_si256(moved, others))};
  }
  static Lanes16 Widen(Int8 /*format*/, const std::int8_t* at) {
    return {_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(LoadBytes(at)))};
  }

  template <bool kHigh>
  static Lanes16 Codes(const std::byte* at) {
    const __m512i bytes = _mm512_cvtepu8_epi32(LoadBytes(at));
    const __m512 numbers = _mm512_setr_ps(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    // Of an index only four bits count.
    if constexpr (kHigh) return {_mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), numbers)};
    return {_mm512_permutexvar_ps(bytes, numbers)};
  }

  template <class F>
  static Lanes16 OrNaN(F /*format*/, Lanes16 x, const typename F::Number* /*at*/) {
    return x;
  }
  static Lanes16 OrNaN(Fp8 /*format*/, Lanes16 x, const std::uint8_t* at) {
    const __m128i negative = _mm_or_si128(LoadBytes(at), _mm_set1_epi8(-128));
    const __mmask16 is_nan = _mm_cmpeq_epi8_mask(negative, _mm_set1_epi8(-1));
    return {_mm512_mask_mov_ps(x.v, is_nan, _mm512_set1_ps(__builtin_nanf("")))};
  }

  static __m128i LoadBytes(const void* at) {
    return _mm_loadu_si128(static_cast<const __m128i*>(at));
  }

  __m512 v;
};

inline Lanes16 Fma(Lanes16 a, Lanes16 b, Lanes16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
inline Lanes16 Sub(Lanes16 a, Lanes16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
inline Lanes16 Mul(Lanes16 a, Lanes16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
inline void Put(Lanes16 a, float* to) { _mm512_storeu_ps(to, a.v); }

}  // namespace
}  // namespace banyan::kernels
