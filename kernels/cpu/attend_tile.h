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

#include "kernels/cpu/ops.h"

namespace banyan::kernels {
namespace {

// Queries of one register tile, and the keys that they see.
template <int kQueries>
struct TileQueries {
  explicit TileQueries(const AttendQuery* from) {
    for (int q = 0; q < kQueries; ++q) {
      at[q] = from[q].query;
      first[q] = from[q].first;
      last[q] = from[q].last;
      if (first[q] < begin) begin = first[q];
      if (first[q] > all_begin) all_begin = first[q];
      if (last[q] > end) end = last[q];
      if (last[q] < all_end) all_end = last[q];
    }
    if (all_begin > all_end) all_begin = all_end = end;
  }

  const float* at[kQueries];
  int first[kQueries];
  int last[kQueries];
  int begin = kChunkKeys;  // begin .. end - 1: what some of them see
  int end = 0;
  int all_begin = 0;  // all_begin .. all_end - 1: what all of them see
  int all_end = kChunkKeys;
};

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

template <class V, int kQueries, int kWidth>
[[gnu::always_inline]] inline void Clear(V (&sums)[kQueries][kWidth]) {
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q)
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) sums[q][i] = V::Of(0.0F);
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

// 2^x for x <= 0: within 2 units in the last place down to -126, 0 from -127 down, something
// between between them; 2^0 is 1; NaN stays NaN. See math_portable.h.
template <class V>
[[gnu::always_inline]] inline V Exp2(V x) {
  const V clamped = Max(V::Of(-127.0F), x);  // the second where it is NaN
  const V n = Round(clamped);
  const V r = Sub(clamped, n);
  V p = V::Of(1.32694072e-3F);
  p = Fma(p, r, V::Of(9.67129413e-3F));
  p = Fma(p, r, V::Of(5.55071123e-2F));
  p = Fma(p, r, V::Of(2.40222469e-1F));
  p = Fma(p, r, V::Of(6.93147004e-1F));
  p = Fma(p, r, V::Of(1.0F));
  return TimesPowerOf2(p, n);
}

// Scores to weights 2^(score - greatest), in place. Keys that a query does not see take the score
// -infinity and so the weight 0; NaN is not the greatest. The queries of a tile go side by side, so
// that none waits for its own sums alone.
template <class V, int kQueries>
[[gnu::always_inline]] inline void Softmax(const TileQueries<kQueries>& queries,
                                           float (*weights)[kChunkKeys],
                                           float (&greatest)[kQueries], float (&sum)[kQueries]) {
  constexpr int kVectors = kTileKeys / V::kLanes;
  const int begin = queries.begin / kTileKeys * kTileKeys;
  const int end = (queries.end + kTileKeys - 1) / kTileKeys * kTileKeys;
  if (begin < queries.all_begin || queries.all_end < end) {
    for (int q = 0; q < kQueries; ++q)
      for (int j = begin; j < end; j += V::kLanes)
        Put(Between(V::Load(weights[q] + j), queries.first[q] - j, queries.last[q] - j),
            weights[q] + j);
  }
  V most[kQueries][kVectors];
  V sums[kQueries][kVectors];
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q)
#pragma GCC unroll 16
    for (int i = 0; i < kVectors; ++i) most[q][i] = V::Of(-__builtin_inff());
  for (int j = begin; j < end; j += kTileKeys)
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q)
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i)
        most[q][i] = Max(V::Load(weights[q] + j + i * V::kLanes), most[q][i]);
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q) greatest[q] = HorizontalMax(most[q]);
  Clear(sums);
  for (int j = begin; j < end; j += kTileKeys)
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q)
#pragma GCC unroll 16
      for (int i = 0; i < kVectors; ++i) {
        float* at = weights[q] + j + i * V::kLanes;
        const V weight = Exp2(Sub(V::Load(at), V::Of(greatest[q])));
        Put(weight, at);
        sums[q][i] = Add(sums[q][i], weight);
      }
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q) sum[q] = HorizontalSum(sums[q]);
}

// What a state and a chunk's partial are multiplied with to be added.
struct Factors {
  float keep = 0;
  float take = 0;
};

// A partial's greatest score and sum of weights into those of a state.
template <class V>
[[gnu::always_inline]] inline Factors MergeHeads(float greatest, float sum, float* state) {
  const float most = greatest > state[0] ? greatest : state[0];
  float factors[V::kLanes];
  Put(Exp2(V::OfTwo(state[0] - most, greatest - most)), factors);
  state[0] = most;
  state[1] = state[1] * factors[0] + sum * factors[1];
  return {factors[0], factors[1]};
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
