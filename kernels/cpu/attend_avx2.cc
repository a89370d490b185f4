// Attention over one chunk of keys. For a query and a key the score is one chain of fused
// multiply-adds over the dimensions in increasing order; for a query and a dimension the result is
// one chain over the keys in increasing order: the same chains for one query as for many.
//
// Halves are widened as they are loaded: widening a chunk to memory first did not pay for any
// number of queries. A register tile is 1..6 queries times as many vectors of keys or dimensions as
// make 8 to 12 sums, which is what two multiply-adds per cycle of latency 4 ask for and what
// sixteen registers hold.

#include <immintrin.h>

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/math_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

// Loops over a tile's registers are all unrolled: a single one that is not would keep the tile in
// memory.
constexpr int kMaxQueries = 6;
constexpr int kTileVectors = kTileKeys / 8;

// Vectors beside kQueries sums in a register tile.
template <int kQueries>
constexpr int kVectors = kQueries == 1   ? 8
                         : kQueries <= 3 ? 4
                                         : 2;

[[gnu::always_inline]] inline __m256 Load(const std::uint16_t* at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

// sums[q][i] += left(q) * right(i). Of the smaller side every vector is loaded first and kept.
template <int kQueries, int kWidth, class L, class R>
[[gnu::always_inline]] inline void MultiplyAdd(const L& left, const R& right,
                                               __m256 (&sums)[kQueries][kWidth]) {
  if constexpr (kQueries < kWidth) {
    __m256 kept[kQueries];
#pragma GCC unroll 6
    for (int q = 0; q < kQueries; ++q) kept[q] = left(q);
#pragma GCC unroll 8
    for (int i = 0; i < kWidth; ++i) {
      const __m256 v = right(i);
#pragma GCC unroll 6
      for (int q = 0; q < kQueries; ++q) sums[q][i] = _mm256_fmadd_ps(kept[q], v, sums[q][i]);
    }
  } else {
    __m256 kept[kWidth];
#pragma GCC unroll 8
    for (int i = 0; i < kWidth; ++i) kept[i] = right(i);
#pragma GCC unroll 6
    for (int q = 0; q < kQueries; ++q) {
      const __m256 v = left(q);
#pragma GCC unroll 8
      for (int i = 0; i < kWidth; ++i) sums[q][i] = _mm256_fmadd_ps(v, kept[i], sums[q][i]);
    }
  }
}

// To the second level of the caches: in the first, requests wait for each other.
[[gnu::always_inline]] inline void Fetch(const std::uint16_t* at) { _mm_prefetch(at, _MM_HINT_T1); }

// weights[q][16 t ..] = scale * (query q . key) for the keys of the kTiles tiles from t on.
template <int kQueries, int kTiles>
[[gnu::always_inline]] inline void ScoreTiles(const AttendWork& work, int t,
                                              const float* const* queries, const ChunkHalves* next,
                                              float (*weights)[kChunkKeys]) {
  __m256 sums[kQueries][kTiles * kTileVectors];
#pragma GCC unroll 6
  for (int q = 0; q < kQueries; ++q)
#pragma GCC unroll 8
    for (int i = 0; i < kTiles * kTileVectors; ++i) sums[q][i] = _mm256_setzero_ps();
  for (int d = 0; d < work.head_dim; ++d) {
    const auto key = [&](int i) {
      return Load(work.chunk->keys[t + i / kTileVectors] + d * kTileKeys + i % kTileVectors * 8);
    };
    if (next != nullptr)
      for (int i = 0; i < kTiles; ++i) Fetch(next->keys[t + i] + d * kTileKeys);
    const auto query = [&](int q) { return _mm256_broadcast_ss(queries[q] + d); };
    MultiplyAdd<kQueries, kTiles * kTileVectors>(query, key, sums);
  }
  const __m256 scale = _mm256_set1_ps(work.scale);
#pragma GCC unroll 6
  for (int q = 0; q < kQueries; ++q)
#pragma GCC unroll 8
    for (int i = 0; i < kTiles * kTileVectors; ++i)
      _mm256_store_ps(weights[q] + t * kTileKeys + i * 8, _mm256_mul_ps(sums[q][i], scale));
}

template <int kQueries>
void Scores(const AttendWork& work, const float* const* queries, const ChunkHalves* next,
            float (*weights)[kChunkKeys]) {
  constexpr int kTiles = kVectors<kQueries> / kTileVectors;
  int t = work.first / kTileKeys;
  const int end = (work.last + kTileKeys - 1) / kTileKeys;
  for (; t + kTiles <= end; t += kTiles)
    ScoreTiles<kQueries, kTiles>(work, t, queries, next, weights);
  if constexpr (kTiles > 1)
    for (; t < end; ++t) ScoreTiles<kQueries, 1>(work, t, queries, next, weights);
}

// Scores to weights exp(score - greatest), in place; the greatest and the sum to each partial.
// Lanes of keys that are not seen take the score -infinity and so the weight 0. The queries of a
// tile go side by side, so that none waits for its own sums alone.
template <int kQueries>
void Softmax(int first, int last, float (*weights)[kChunkKeys], float* const* partials) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256 nothing = _mm256_set1_ps(-__builtin_inff());
  const int begin = first / 8 * 8;
  __m256 most[kQueries];
  __m256 sums[kQueries];
#pragma GCC unroll 6
  for (int q = 0; q < kQueries; ++q) most[q] = nothing;
  for (int j = begin; j < last; j += 8) {
    const __m256i before = _mm256_cmpgt_epi32(_mm256_set1_epi32(first - j), lanes);
    const __m256i seen = _mm256_cmpgt_epi32(_mm256_set1_epi32(last - j), lanes);
    const __m256 mask = _mm256_castsi256_ps(_mm256_andnot_si256(before, seen));
#pragma GCC unroll 6
    for (int q = 0; q < kQueries; ++q) {
      const __m256 scores = _mm256_blendv_ps(nothing, _mm256_load_ps(weights[q] + j), mask);
      _mm256_store_ps(weights[q] + j, scores);
      most[q] = _mm256_max_ps(most[q], scores);
    }
  }
#pragma GCC unroll 6
  for (int q = 0; q < kQueries; ++q) {
    partials[q][0] = HorizontalMax(most[q]);
    most[q] = _mm256_set1_ps(partials[q][0]);
    sums[q] = _mm256_setzero_ps();
  }
  for (int j = begin; j < last; j += 8) {
#pragma GCC unroll 6
    for (int q = 0; q < kQueries; ++q) {
      const __m256 weight = Exp(_mm256_sub_ps(_mm256_load_ps(weights[q] + j), most[q]));
      _mm256_store_ps(weights[q] + j, weight);
      sums[q] = _mm256_add_ps(sums[q], weight);
    }
  }
#pragma GCC unroll 6
  for (int q = 0; q < kQueries; ++q) partials[q][1] = HorizontalSum(sums[q]);
}

// partials[q][header + d ..] = sum over j of weights[q][j] * values[j][d ..], kVectors vectors.
template <int kQueries, int kWidth>
[[gnu::always_inline]] inline void WeightedSum(const AttendWork& work, int d,
                                               const float (*weights)[kChunkKeys],
                                               const ChunkHalves* next, float* const* partials) {
  __m256 sums[kQueries][kWidth];
#pragma GCC unroll 6
  for (int q = 0; q < kQueries; ++q)
#pragma GCC unroll 8
    for (int i = 0; i < kWidth; ++i) sums[q][i] = _mm256_setzero_ps();
  for (int j = work.first; j < work.last; ++j) {
    const std::uint16_t* value = work.chunk->values[j] + d;
    if (next != nullptr)
      for (int i = 0; i < kWidth; i += 4) Fetch(next->values[j] + d + 8 * i);
    MultiplyAdd<kQueries, kWidth>([&](int q) { return _mm256_broadcast_ss(weights[q] + j); },
                                  [&](int i) { return Load(value + 8 * i); }, sums);
  }
#pragma GCC unroll 6
  for (int q = 0; q < kQueries; ++q)
#pragma GCC unroll 8
    for (int i = 0; i < kWidth; ++i)
      _mm256_storeu_ps(partials[q] + kPartialHeader + d + 8 * i, sums[q][i]);
}

template <int kQueries>
void AttendTile(const AttendWork& work, const float* const* queries, const ChunkHalves* next,
                float* const* partials) {
  constexpr int kWidth = kVectors<kQueries>;
  alignas(32) float weights[kQueries][kChunkKeys];
  Scores<kQueries>(work, queries, next, weights);
  Softmax<kQueries>(work.first, work.last, weights, partials);
  int d = 0;
  for (; d + 8 * kWidth <= work.head_dim; d += 8 * kWidth)
    WeightedSum<kQueries, kWidth>(work, d, weights, next, partials);
  for (; d < work.head_dim; d += 8) WeightedSum<kQueries, 1>(work, d, weights, next, partials);
}

}  // namespace

void Attend(const AttendWork& work) {
  static constexpr void (*kTiles[])(const AttendWork&, const float* const*, const ChunkHalves*,
                                    float* const*) = {AttendTile<1>, AttendTile<2>, AttendTile<3>,
                                                      AttendTile<4>, AttendTile<5>, AttendTile<6>};
  // As few tiles as will do, of sizes that differ by one at most. The first fetches.
  int tiles = (work.count + kMaxQueries - 1) / kMaxQueries;
  for (int q = 0; q < work.count; --tiles) {
    const int queries = (work.count - q + tiles - 1) / tiles;
    kTiles[queries - 1](work, work.queries + q, q == 0 ? work.next : nullptr, work.partials + q);
    q += queries;
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
