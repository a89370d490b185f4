// Attention over one chunk of keys, for vectors of any width; each *.cc file that includes this has
// its own copy. For a query and a key the score is one chain of fused multiply-adds over the
// dimensions in increasing order; for a query and a dimension the result is one chain over the keys
// in increasing order: the same chains for one query as for many.
//
// V is one register, with V::kLanes floats, F the format of the pages. A register tile is kQueries
// queries times kWidth vectors of keys or of dimensions. Numbers are widened as they are loaded,
// which costs little beside the multiply-adds. Loops over the registers of a tile are all unrolled:
// a single one that is not would keep it in memory.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/attend_softmax.h"
#include "kernels/cpu/ops.h"

namespace banyan::kernels {
namespace {

// sums[q][i] += left(q) * right(i). Of the smaller side every vector is loaded first and kept.
template <class V, int kQueries, int kWidth, class L, class R>
[[gnu::always_inline]] inline void MultiplyAdd(const L& left, const R& right,
                                               V (&sums)[kQueries][kWidth]) {
  if constexpr (kQueries < kWidth) {
    V kept[kQueries];
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q) kept[q] = left(q);
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) {
      const V v = right(i);
#pragma GCC unroll 16
      for (int q = 0; q < kQueries; ++q) sums[q][i] = Fma(kept[q], v, sums[q][i]);
    }
  } else {
    V kept[kWidth];
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) kept[i] = right(i);
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q) {
      const V v = left(q);
#pragma GCC unroll 16
      for (int i = 0; i < kWidth; ++i) sums[q][i] = Fma(v, kept[i], sums[q][i]);
    }
  }
}

// To the second level of the caches: in the first, requests wait for each other.
[[gnu::always_inline]] inline void Fetch(const void* at) { _mm_prefetch(at, _MM_HINT_T1); }

template <class F>
constexpr int kLineNumbers = 64 / sizeof(typename F::Number);

template <class F>
[[gnu::always_inline]] inline const typename F::Number* NumbersAt(const std::byte* at) {
  return reinterpret_cast<const typename F::Number*>(at);
}

// What the scores of V::kLanes keys of tile t from `lane` on are multiplied with.
template <class V, class F>
[[gnu::always_inline]] inline V KeyFactors(const AttendWork& work, int t, int lane) {
  const V scale = V::Of(work.scale * kLog2E * F::kUnit);
  if constexpr (F::kHasScales)
    return Mul(scale, V::Widen(F16(), work.chunk->key_scales[t] + lane));
  else
    return V::OrNaN(F(), scale, NumbersAt<F>(work.chunk->keys[t]) + lane);
}

// weights[q][16 t ..] = the scores of query q and the keys of the kTiles tiles from t on.
template <class V, class F, int kTiles, int kQueries>
[[gnu::always_inline]] inline void ScoreTiles(const AttendWork& work, int t,
                                              const float* const (&queries)[kQueries],
                                              const ChunkTiles* next,
                                              float (*weights)[kChunkKeys]) {
  constexpr int kVectors = kTileKeys / V::kLanes;
  // Each line twice: a request that finds all buffers taken is dropped.
  constexpr int kFetchEvery = kLineNumbers<F> / kTileKeys / 2;
  V sums[kQueries][kTiles * kVectors];
  Clear(sums);
  if constexpr (F::kHasScales) {
    if (next != nullptr) {
      for (int i = t; i < t + kTiles; ++i) {
        Fetch(next->key_scales[i]);
        Fetch(next->value_scales[i]);
      }
    }
  }
  for (int d = 0; d < work.head_dim; ++d) {
    const int at = d * kTileKeys;
    if (next != nullptr && d % kFetchEvery == 0)
      for (int i = 0; i < kTiles; ++i) Fetch(NumbersAt<F>(next->keys[t + i]) + at);
    const auto key = [&](int i) {
      return V::Widen(
          F(), NumbersAt<F>(work.chunk->keys[t + i / kVectors]) + at + i % kVectors * V::kLanes);
    };
    MultiplyAdd([&](int q) { return V::Of(queries[q][d]); }, key, sums);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kTiles * kVectors; ++i) {
    const V factor = KeyFactors<V, F>(work, t + i / kVectors, i % kVectors * V::kLanes);
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q)
      Put(Mul(sums[q][i], factor), weights[q] + t * kTileKeys + i * V::kLanes);
  }
}

template <class V, class F, int kWidth, int kQueries>
[[gnu::always_inline]] inline void Scores(const AttendWork& work,
                                          const TileQueries<kQueries>& queries,
                                          const ChunkTiles* next, float (*weights)[kChunkKeys]) {
  constexpr int kTiles = kWidth * V::kLanes / kTileKeys;
  int t = queries.begin / kTileKeys;
  const int end = (queries.end + kTileKeys - 1) / kTileKeys;
  for (; t + kTiles <= end; t += kTiles)
    ScoreTiles<V, F, kTiles>(work, t, queries.at, next, weights);
  if constexpr (kTiles > 1)
    for (; t < end; ++t) ScoreTiles<V, F, 1>(work, t, queries.at, next, weights);
}

// Weights times the scales of the values.
template <class V, int kQueries>
[[gnu::always_inline]] inline void ScaleWeights(const AttendWork& work,
                                                const TileQueries<kQueries>& queries,
                                                float (*weights)[kChunkKeys]) {
  for (int t = queries.begin / kTileKeys; t * kTileKeys < queries.end; ++t) {
    for (int lane = 0; lane < kTileKeys; lane += V::kLanes) {
      const V scales = V::Widen(F16(), work.chunk->value_scales[t] + lane);
#pragma GCC unroll 16
      for (int q = 0; q < kQueries; ++q) {
        float* at = weights[q] + t * kTileKeys + lane;
        Put(Mul(V::Load(at), scales), at);
      }
    }
  }
}

// Weighted sums of the dimensions from d on, over `unit`, to the results.
template <class V, int kQueries, int kWidth>
[[gnu::always_inline]] inline void PutSums(const AttendWork& work,
                                           const V (&sums)[kQueries][kWidth], float unit,
                                           const Factors (&factors)[kQueries], int d,
                                           float* const (&results)[kQueries]) {
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q) {
    float* out = results[q] + kPartialHeader + d;
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i, out += V::kLanes) {
      if (work.into == AttendInto::kPartials) {
        Put(unit == 1.0F ? sums[q][i] : Mul(sums[q][i], V::Of(unit)), out);
      } else {
        const V kept = Mul(V::Load(out), V::Of(factors[q].keep));
        Put(Fma(sums[q][i], V::Of(factors[q].take), kept), out);
      }
    }
  }
}

// In increasing order: some(begin, end) of keys that some queries see, all(begin, end) of keys of
// one tile that all see.
template <int kQueries, class All, class Some>
[[gnu::always_inline]] inline void OverKeys(const TileQueries<kQueries>& queries, const All& all,
                                            const Some& some) {
  some(queries.begin, queries.all_begin);
  for (int j = queries.all_begin; j < queries.all_end;) {
    const int tile_end = (j / kTileKeys + 1) * kTileKeys;
    const int end = tile_end < queries.all_end ? tile_end : queries.all_end;
    all(j, end);
    j = end;
  }
  some(queries.all_end, queries.end);
}

// The weighted sums of the values in kWidth vectors from dimension d on, to the results.
template <class V, class F, int kWidth, int kQueries>
[[gnu::always_inline]] inline void WeightedSum(const AttendWork& work,
                                               float* const (&results)[kQueries],
                                               const TileQueries<kQueries>& queries, int d,
                                               const float (*weights)[kChunkKeys],
                                               const Factors (&factors)[kQueries],
                                               const ChunkTiles* next) {
  V sums[kQueries][kWidth];
  Clear(sums);
  const auto all = [&](int j, int end) __attribute__((always_inline)) {
    const std::int64_t at = std::int64_t{j % kTileKeys} * work.head_dim + d;
    const auto* value = NumbersAt<F>(work.chunk->values[j / kTileKeys]) + at;
    const bool fetch = next != nullptr && d % kLineNumbers<F> == 0;
    const auto* next_value = fetch ? NumbersAt<F>(next->values[j / kTileKeys]) + at : nullptr;
    for (; j < end; ++j, value += work.head_dim) {
      if (fetch) {
        for (int i = 0; i < kWidth * V::kLanes; i += kLineNumbers<F>) Fetch(next_value + i);
        next_value += work.head_dim;
      }
      MultiplyAdd([&](int q) { return V::Of(weights[q][j]); },
                  [&](int i) { return V::Widen(F(), value + i * V::kLanes); }, sums);
    }
  };
  // A value that a query does not see must not enter its sums, not even times zero.
  const auto some = [&](int j, int end) __attribute__((always_inline)) {
    for (; j < end; ++j) {
      const auto* value = NumbersAt<F>(work.chunk->values[j / kTileKeys]) +
                          std::int64_t{j % kTileKeys} * work.head_dim + d;
#pragma GCC unroll 16
      for (int q = 0; q < kQueries; ++q) {
        if (j < queries.first[q] || queries.last[q] <= j) continue;
#pragma GCC unroll 16
        for (int i = 0; i < kWidth; ++i)
          sums[q][i] = Fma(V::Of(weights[q][j]), V::Widen(F(), value + i * V::kLanes), sums[q][i]);
      }
    }
  };
  OverKeys(queries, all, some);
  PutSums<V, kQueries, kWidth>(work, sums, F::kUnit, factors, d, results);
}

// S is a register of eight floats, or V itself: softmax, and the dimensions that are left over.
// scores(queries, weights) puts the scores, sums(queries, weights, results, factors) the results.
template <class S, int kQueries, class Score, class Sum>
[[gnu::always_inline]] inline void AttendBy(const AttendWork& work, const AttendQuery* from,
                                            float unit, const Score& scores, const Sum& sums) {
  const TileQueries<kQueries> queries(from);
  alignas(64) float weights[kQueries][kChunkKeys];
  float greatest[kQueries];
  float sum[kQueries];
  float* results[kQueries];
  for (int q = 0; q < kQueries; ++q) results[q] = from[q].result;
  scores(queries, weights);
  Softmax<S>(queries, weights, greatest, sum);
  Factors factors[kQueries];
  for (int q = 0; q < kQueries; ++q) {
    if (work.into == AttendInto::kStates) {
      factors[q] = MergeHeads<S>(greatest[q], sum[q], results[q]);
      factors[q].take *= unit;
    } else {
      results[q][0] = greatest[q];
      results[q][1] = sum[q];
    }
  }
  sums(queries, weights, results, factors);
}

template <class V, class F, int kQueries, int kWidth, class S = V>
void AttendTile(const AttendWork& work, const AttendQuery* from, const ChunkTiles* next) {
  using Weights = float(&)[kQueries][kChunkKeys];
  AttendBy<S, kQueries>(
      work, from, F::kUnit,
      [&](const TileQueries<kQueries>& queries, Weights weights)
          __attribute__((always_inline)) { Scores<V, F, kWidth>(work, queries, next, weights); },
      [&](const TileQueries<kQueries>& queries, Weights weights, float* const(&results)[kQueries],
          const Factors(&factors)[kQueries]) __attribute__((always_inline)) {
        if constexpr (F::kHasScales) ScaleWeights<S>(work, queries, weights);
        int d = 0;
        for (; d + kWidth * V::kLanes <= work.head_dim; d += kWidth * V::kLanes)
          WeightedSum<V, F, kWidth>(work, results, queries, d, weights, factors, next);
        for (; d + S::kLanes <= work.head_dim; d += S::kLanes)
          WeightedSum<S, F, 1>(work, results, queries, d, weights, factors, next);
      });
}

// tile_of[n - 1] is for n queries. As few tiles as will do, of sizes that differ by one at most;
// the first fetches.
using Tile = void (*)(const AttendWork&, const AttendQuery*, const ChunkTiles*);
template <int kMaxQueries>
void AttendTiles(const Tile (&tile_of)[kMaxQueries], const AttendWork& work) {
  int tiles = (work.count + kMaxQueries - 1) / kMaxQueries;
  for (int q = 0; q < work.count; --tiles) {
    const int queries = (work.count - q + tiles - 1) / tiles;
    tile_of[queries - 1](work, work.queries + q, q == 0 ? work.next : nullptr);
    q += queries;
  }
}

}  // namespace
}  // namespace banyan::kernels
