// Vector functions that several *_avx2.cc files share, each with its own copy.
#pragma once

#include <immintrin.h>

namespace banyan::kernels::avx2 {
namespace {

// One fixed tree: ((0+4)+(2+6)) + ((1+5)+(3+7)).
[[maybe_unused]] inline float HorizontalSum(__m256 v) {
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

[[maybe_unused]] inline float HorizontalMax(__m256 v) {
  const __m128 four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
}

// exp(x) within 2 units in the last place where the result is normal; 0 below, infinity above
// 88.376; exp(0) is 1; NaN stays NaN. Cody & Waite's reduction to |r| <= ln(2) / 2, then the
// polynomial of Cephes' expf (S. Moshier), https://www.netlib.org/cephes/.
[[maybe_unused]] inline __m256 Exp(__m256 x) {
  const __m256 lowest = _mm256_set1_ps(-87.336544F);  // ln(2^-126)
  const __m256 highest = _mm256_set1_ps(88.376262F);  // ln(2^127.5)
  // Operand order: where x is NaN, max and min return their second operand.
  const __m256 clamped = _mm256_min_ps(highest, _mm256_max_ps(lowest, x));
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(clamped, _mm256_set1_ps(1.44269504F)),
                                   _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375F), clamped);
  r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4F), r);

  __m256 p = _mm256_set1_ps(1.9875691500e-4F);
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.3981999507e-3F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(8.3334519073e-3F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(4.1665795894e-2F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(1.6666665459e-1F));
  p = _mm256_fmadd_ps(p, r, _mm256_set1_ps(5.0000001201e-1F));
  p = _mm256_add_ps(_mm256_fmadd_ps(p, _mm256_mul_ps(r, r), r), _mm256_set1_ps(1.0F));

  const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
  __m256 y = _mm256_mul_ps(p, _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23)));
  y = _mm256_andnot_ps(_mm256_cmp_ps(x, lowest, _CMP_LT_OQ), y);
  return _mm256_blendv_ps(y, _mm256_set1_ps(__builtin_inff()),
                          _mm256_cmp_ps(x, highest, _CMP_GT_OQ));
}

}  // namespace
}  // namespace banyan::kernels::avx2
