// Attention over one chunk of keys. For a query and a key the score is one chain of fused
// multiply-adds over the dimensions in increasing order; for a query and a dimension the result is
// one chain over the keys in increasing order: the same chains for one query as for many.

#include <immintrin.h>

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/math_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

// Queries of one register tile. Loops over a tile's registers are all unrolled: a single one that
// is not would keep the tile in memory.
constexpr int kMaxQueries = 4;

__m128i LoadHalves(const std::uint16_t* at) {
  return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

// Columns of the 8 x 8 halves in `rows`, widened.
[[gnu::always_inline]] inline void TransposeWiden(const __m128i (&rows)[8], float* out) {
  const __m128i a0 = _mm_unpacklo_epi16(rows[0], rows[1]);
  const __m128i a1 = _mm_unpackhi_epi16(rows[0], rows[1]);
  const __m128i a2 = _mm_unpacklo_epi16(rows[2], rows[3]);
  const __m128i a3 = _mm_unpackhi_epi16(rows[2], rows[3]);
  const __m128i a4 = _mm_unpacklo_epi16(rows[4], rows[5]);
  const __m128i a5 = _mm_unpackhi_epi16(rows[4], rows[5]);
  const __m128i a6 = _mm_unpacklo_epi16(rows[6], rows[7]);
  const __m128i a7 = _mm_unpackhi_epi16(rows[6], rows[7]);
  const __m128i b0 = _mm_unpacklo_epi32(a0, a2);
  const __m128i b1 = _mm_unpackhi_epi32(a0, a2);
  const __m128i b2 = _mm_unpacklo_epi32(a1, a3);
  const __m128i b3 = _mm_unpackhi_epi32(a1, a3);
  const __m128i b4 = _mm_unpacklo_epi32(a4, a6);
  const __m128i b5 = _mm_unpackhi_epi32(a4, a6);
  const __m128i b6 = _mm_unpacklo_epi32(a5, a7);
  const __m128i b7 = _mm_unpackhi_epi32(a5, a7);
  const __m128i columns[8] = {_mm_unpacklo_epi64(b0, b4), _mm_unpackhi_epi64(b0, b4),
                              _mm_unpacklo_epi64(b1, b5), _mm_unpackhi_epi64(b1, b5),
                              _mm_unpacklo_epi64(b2, b6), _mm_unpackhi_epi64(b2, b6),
                              _mm_unpacklo_epi64(b3, b7), _mm_unpackhi_epi64(b3, b7)};
  for (int i = 0; i < 8; ++i) _mm256_storeu_ps(out + i * kChunkKeys, _mm256_cvtph_ps(columns[i]));
}

// weights[q][j] = scale * (query q . key j), for the keys up to the next multiple of 16.
template <int kQueries>
void Scores(const float* keys, int count, int head_dim, float scale, const float* const* queries,
            float (*weights)[kChunkKeys]) {
  const __m256 scales = _mm256_set1_ps(scale);
  for (int j = 0; j < count; j += 16) {
    __m256 first[kQueries];
    __m256 second[kQueries];
#pragma GCC unroll 4
    for (int q = 0; q < kQueries; ++q) first[q] = second[q] = _mm256_setzero_ps();
    const float* key = keys + j;
    for (int d = 0; d < head_dim; ++d, key += kChunkKeys) {
      const __m256 k0 = _mm256_loadu_ps(key);
      const __m256 k1 = _mm256_loadu_ps(key + 8);
#pragma GCC unroll 4
      for (int q = 0; q < kQueries; ++q) {
        const __m256 value = _mm256_broadcast_ss(queries[q] + d);
        first[q] = _mm256_fmadd_ps(value, k0, first[q]);
        second[q] = _mm256_fmadd_ps(value, k1, second[q]);
      }
    }
#pragma GCC unroll 4
    for (int q = 0; q < kQueries; ++q) {
      _mm256_storeu_ps(weights[q] + j, _mm256_mul_ps(first[q], scales));
      _mm256_storeu_ps(weights[q] + j + 8, _mm256_mul_ps(second[q], scales));
    }
  }
}

// Scores to weights exp(score - greatest), in place; the greatest and the sum to `partial`. Lanes
// past `count` take the score -infinity and so the weight 0.
void Softmax(float* weights, int count, float* partial) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256 nothing = _mm256_set1_ps(-__builtin_inff());
  __m256 greatest = nothing;
  for (int j = 0; j < count; j += 8) {
    const __m256i seen = _mm256_cmpgt_epi32(_mm256_set1_epi32(count - j), lanes);
    const __m256 scores =
        _mm256_blendv_ps(nothing, _mm256_loadu_ps(weights + j), _mm256_castsi256_ps(seen));
    _mm256_storeu_ps(weights + j, scores);
    greatest = _mm256_max_ps(greatest, scores);
  }
  partial[0] = HorizontalMax(greatest);
  const __m256 most = _mm256_set1_ps(partial[0]);
  __m256 sum = _mm256_setzero_ps();
  for (int j = 0; j < count; j += 8) {
    const __m256 weight = Exp(_mm256_sub_ps(_mm256_loadu_ps(weights + j), most));
    _mm256_storeu_ps(weights + j, weight);
    sum = _mm256_add_ps(sum, weight);
  }
  partial[1] = HorizontalSum(sum);
}

// partials[q][header + d ..] = sum over j of weights[q][j] * values[j][d ..], kVectors vectors.
template <int kQueries, int kVectors>
void WeightedSum(const float* values, int count, int head_dim, int d,
                 const float (*weights)[kChunkKeys], float* const* partials) {
  __m256 sums[kQueries][kVectors];
#pragma GCC unroll 4
  for (int q = 0; q < kQueries; ++q)
#pragma GCC unroll 2
    for (int i = 0; i < kVectors; ++i) sums[q][i] = _mm256_setzero_ps();
  const float* value = values + d;
  for (int j = 0; j < count; ++j, value += head_dim) {
    __m256 v[kVectors];
#pragma GCC unroll 2
    for (int i = 0; i < kVectors; ++i) v[i] = _mm256_loadu_ps(value + 8 * i);
#pragma GCC unroll 4
    for (int q = 0; q < kQueries; ++q) {
      const __m256 weight = _mm256_broadcast_ss(weights[q] + j);
#pragma GCC unroll 2
      for (int i = 0; i < kVectors; ++i) sums[q][i] = _mm256_fmadd_ps(weight, v[i], sums[q][i]);
    }
  }
#pragma GCC unroll 4
  for (int q = 0; q < kQueries; ++q)
#pragma GCC unroll 2
    for (int i = 0; i < kVectors; ++i)
      _mm256_storeu_ps(partials[q] + kPartialHeader + d + 8 * i, sums[q][i]);
}

template <int kQueries>
void AttendTile(const float* keys, const float* values, int count, int head_dim, float scale,
                const float* const* queries, float* const* partials) {
  alignas(32) float weights[kQueries][kChunkKeys];
  Scores<kQueries>(keys, count, head_dim, scale, queries, weights);
  for (int q = 0; q < kQueries; ++q) Softmax(weights[q], count, partials[q]);
  int d = 0;
  for (; d + 16 <= head_dim; d += 16)
    WeightedSum<kQueries, 2>(values, count, head_dim, d, weights, partials);
  if (d < head_dim) WeightedSum<kQueries, 1>(values, count, head_dim, d, weights, partials);
}

}  // namespace

void WidenKeys(const std::uint16_t* const* rows, int keys, int head_dim, float* out) {
  alignas(16) static constexpr std::uint16_t kZeros[8] = {};
  for (int j = 0; j < (keys + 15) / 16 * 16; j += 8) {
    for (int d = 0; d < head_dim; d += 8) {
      __m128i block[8];
#pragma GCC unroll 8
      for (int i = 0; i < 8; ++i) block[i] = LoadHalves(j + i < keys ? rows[j + i] + d : kZeros);
      TransposeWiden(block, out + d * kChunkKeys + j);
    }
  }
}

void WidenValues(const std::uint16_t* const* rows, int keys, int head_dim, float* out) {
  for (int j = 0; j < keys; ++j, out += head_dim)
    for (int d = 0; d < head_dim; d += 8)
      _mm256_storeu_ps(out + d, _mm256_cvtph_ps(LoadHalves(rows[j] + d)));
}

void Attend(const float* widened_keys, const float* widened_values, int keys, int head_dim,
            float scale, const float* const* queries, int count, float* const* partials) {
  int q = 0;
  for (; q + kMaxQueries <= count; q += kMaxQueries)
    AttendTile<kMaxQueries>(widened_keys, widened_values, keys, head_dim, scale, queries + q,
                            partials + q);
  switch (count - q) {
    case 3:
      return AttendTile<3>(widened_keys, widened_values, keys, head_dim, scale, queries + q,
                           partials + q);
    case 2:
      return AttendTile<2>(widened_keys, widened_values, keys, head_dim, scale, queries + q,
                           partials + q);
    case 1:
      return AttendTile<1>(widened_keys, widened_values, keys, head_dim, scale, queries + q,
                           partials + q);
    default:
      return;
  }
}

void Merge(const float* partial, int head_dim, float* state) {
  const float greatest = partial[0] > state[0] ? partial[0] : state[0];
  const __m256 factors =
      Exp(_mm256_setr_ps(state[0] - greatest, partial[0] - greatest, 0, 0, 0, 0, 0, 0));
  const __m128 pair = _mm256_castps256_ps128(factors);
  const float old_factor = _mm_cvtss_f32(pair);
  const float new_factor = _mm_cvtss_f32(_mm_movehdup_ps(pair));
  state[0] = greatest;
  state[1] = state[1] * old_factor + partial[1] * new_factor;
  const __m256 keep = _mm256_set1_ps(old_factor);
  const __m256 take = _mm256_set1_ps(new_factor);
  for (int d = kPartialHeader; d < kPartialHeader + head_dim; d += 8)
    _mm256_storeu_ps(state + d, _mm256_fmadd_ps(_mm256_loadu_ps(partial + d), take,
                                                _mm256_mul_ps(_mm256_loadu_ps(state + d), keep)));
}

void Finish(const float* state, int head_dim, float* out) {
  const __m256 sum = _mm256_set1_ps(state[1]);
  for (int d = 0; d < head_dim; d += 8)
    _mm256_storeu_ps(out + d, _mm256_div_ps(_mm256_loadu_ps(state + kPartialHeader + d), sum));
}

}  // namespace banyan::kernels::avx2
