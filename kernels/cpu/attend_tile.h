// Attention over one chunk of keys, for vectors of any width; each *.cc file that includes this has
// its own copy. For a query and a key the score is one chain of fused multiply-adds over the
// dimensions in increasing order; for a query and a dimension the result is one chain over the keys
// in increasing order: the same chains for one query as for many.
//
// V is one register, with V::kLanes floats. A register tile is kQueries queries times kWidth
// vectors of keys or of dimensions. Halves are widened as they are loaded, which costs nothing
// beside the multiply-adds. Loops over the registers of a tile are all unrolled: a single one that
// is not would keep it in memory.
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
[[gnu::always_inline]] inline void Fetch(const std::uint16_t* at) { _mm_prefetch(at, _MM_HINT_T1); }

// weights[q][16 t ..] = scale * (query q . key) for the keys of the kTiles tiles from t on.
template <class V, int kTiles, int kQueries>
[[gnu::always_inline]] inline void ScoreTiles(const AttendWork& work, int t,
                                              const float* const (&queries)[kQueries],
                                              const ChunkHalves* next,
                                              float (*weights)[kChunkKeys]) {
  constexpr int kVectors = kTileKeys / V::kLanes;
  V sums[kQueries][kTiles * kVectors];
  Clear(sums);
  for (int d = 0; d < work.head_dim; ++d) {
    if (next != nullptr)
      for (int i = 0; i < kTiles; ++i) Fetch(next->keys[t + i] + d * kTileKeys);
    const auto key = [&](int i) {
      return V::Widen(work.chunk->keys[t + i / kVectors] + d * kTileKeys +
                      i % kVectors * V::kLanes);
    };
    MultiplyAdd([&](int q) { return V::Of(queries[q][d]); }, key, sums);
  }
  const V scale = V::Of(work.scale * kLog2E);
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q)
#pragma GCC unroll 16
    for (int i = 0; i < kTiles * kVectors; ++i)
      Put(Mul(sums[q][i], scale), weights[q] + t * kTileKeys + i * V::kLanes);
}

template <class V, int kWidth, int kQueries>
[[gnu::always_inline]] inline void Scores(const AttendWork& work,
                                          const TileQueries<kQueries>& queries,
                                          const ChunkHalves* next, float (*weights)[kChunkKeys]) {
  constexpr int kTiles = kWidth * V::kLanes / kTileKeys;
  int t = queries.begin / kTileKeys;
  const int end = (queries.end + kTileKeys - 1) / kTileKeys;
  for (; t + kTiles <= end; t += kTiles) ScoreTiles<V, kTiles>(work, t, queries.at, next, weights);
  if constexpr (kTiles > 1)
    for (; t < end; ++t) ScoreTiles<V, 1>(work, t, queries.at, next, weights);
}

// The weighted sums of the values in kWidth vectors from dimension d on, to the results.
template <class V, int kWidth, int kQueries>
[[gnu::always_inline]] inline void WeightedSum(const AttendWork& work,
                                               float* const (&results)[kQueries],
                                               const TileQueries<kQueries>& queries, int d,
                                               const float (*weights)[kChunkKeys],
                                               const Factors (&factors)[kQueries],
                                               const ChunkHalves* next) {
  constexpr int kLineHalves = 32;
  V sums[kQueries][kWidth];
  Clear(sums);
  // Of one tile: keys that all queries see.
  const auto all = [&](int j, int end) __attribute__((always_inline)) {
    const std::int64_t at = std::int64_t{j % kTileKeys} * work.head_dim + d;
    const std::uint16_t* value = work.chunk->values[j / kTileKeys] + at;
    const bool fetch = next != nullptr && d % kLineHalves == 0;
    const std::uint16_t* next_value = fetch ? next->values[j / kTileKeys] + at : nullptr;
    for (; j < end; ++j, value += work.head_dim) {
      if (fetch) {
        for (int i = 0; i < kWidth * V::kLanes; i += kLineHalves) Fetch(next_value + i);
        next_value += work.head_dim;
      }
      MultiplyAdd([&](int q) { return V::Of(weights[q][j]); },
                  [&](int i) { return V::Widen(value + i * V::kLanes); }, sums);
    }
  };
  // And ones that some see: a value that a query does not see must not enter its sums, not even
  // times zero.
  const auto some = [&](int j, int end) __attribute__((always_inline)) {
    for (; j < end; ++j) {
      const std::uint16_t* value =
          work.chunk->values[j / kTileKeys] + std::int64_t{j % kTileKeys} * work.head_dim + d;
#pragma GCC unroll 16
      for (int q = 0; q < kQueries; ++q) {
        if (j < queries.first[q] || queries.last[q] <= j) continue;
#pragma GCC unroll 16
        for (int i = 0; i < kWidth; ++i)
          sums[q][i] = Fma(V::Of(weights[q][j]), V::Widen(value + i * V::kLanes), sums[q][i]);
      }
    }
  };
  some(queries.begin, queries.all_begin);
  for (int j = queries.all_begin; j < queries.all_end;) {
    const int tile_end = (j / kTileKeys + 1) * kTileKeys;
    const int end = tile_end < queries.all_end ? tile_end : queries.all_end;
    all(j, end);
    j = end;
  }
  some(queries.all_end, queries.end);
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q) {
    float* out = results[q] + kPartialHeader + d;
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i, out += V::kLanes) {
      if (work.into == AttendInto::kPartials) {
        Put(sums[q][i], out);
      } else {
        const V kept = Mul(V::Load(out), V::Of(factors[q].keep));
        Put(Fma(sums[q][i], V::Of(factors[q].take), kept), out);
      }
    }
  }
}

template <class V, int kQueries, int kWidth>
void AttendTile(const AttendWork& work, const AttendQuery* from, const ChunkHalves* next) {
  const TileQueries<kQueries> queries(from);
  alignas(64) float weights[kQueries][kChunkKeys];
  float greatest[kQueries];
  float sum[kQueries];
  float* results[kQueries];
  for (int q = 0; q < kQueries; ++q) results[q] = from[q].result;
  Scores<V, kWidth>(work, queries, next, weights);
  Softmax<V>(queries, weights, greatest, sum);
  Factors factors[kQueries];
  for (int q = 0; q < kQueries; ++q) {
    if (work.into == AttendInto::kStates) {
      factors[q] = MergeHeads<V>(greatest[q], sum[q], results[q]);
    } else {
      results[q][0] = greatest[q];
      results[q][1] = sum[q];
    }
  }
  int d = 0;
  for (; d + kWidth * V::kLanes <= work.head_dim; d += kWidth * V::kLanes)
    WeightedSum<V, kWidth>(work, results, queries, d, weights, factors, next);
  for (; d + V::kLanes <= work.head_dim; d += V::kLanes)
    WeightedSum<V, 1>(work, results, queries, d, weights, factors, next);
}

// tile_of[n - 1] is for n queries. As few tiles as will do, of sizes that differ by one at most;
// the first fetches.
using Tile = void (*)(const AttendWork&, const AttendQuery*, const ChunkHalves*);
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
