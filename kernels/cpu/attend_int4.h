// attend_tile.h for tiles that are sealed in 4 bits: what they are is in int4_ops.h. A query times
// a dimension's scale meets codes of sixteen keys, and so does a weight times a value's scale those
// of 32 dimensions; codes become floats in registers.
#pragma once

#include "kernels/cpu/attend_tile.h"
#include "kernels/cpu/int4_ops.h"

namespace banyan::kernels {
namespace {

constexpr int kSealedLine = 64;

// To the caches: half of a line of codes at a time, so each line twice.
[[gnu::always_inline]] inline void FetchHalfLine(const std::byte* codes, int at) {
  if (at % (kSealedLine / 2) == 0) Fetch(codes + at);
}

// What the codes of dimensions d .. d + kSealedDims - 1 of keys are multiplied with, and what is
// taken from them first.
template <int kTiles, int kQueries>
struct ScaledQueries {
  alignas(64) float at[kTiles][kQueries][kSealedDims];
  alignas(64) float zeros[kTiles][kSealedDims];
};

template <class V, int kTiles, int kQueries>
[[gnu::always_inline]] inline void ScaleQueries(const AttendWork& work, int t, int d,
                                                const float* const (&queries)[kQueries],
                                                ScaledQueries<kTiles, kQueries>& out) {
  for (int i = 0; i < kTiles; ++i) {
    for (int j = 0; j < kSealedDims; j += V::kLanes) {
      const V scale = V::Widen(F16(), work.chunk->key_scales[t + i] + d + j);
      Put(V::Widen(Int8(), work.chunk->key_zeros[t + i] + d + j), out.zeros[i] + j);
#pragma GCC unroll 16
      for (int q = 0; q < kQueries; ++q)
        Put(Mul(V::Load(queries[q] + d + j), scale), out.at[i][q] + j);
    }
  }
}

// sums[q][i] += the products of one dimension of the keys, which is number e of `scaled`.
template <class V, bool kHigh, int kTiles, int kQueries, int kVectors>
[[gnu::always_inline]] inline void AddDimension(const ScaledQueries<kTiles, kQueries>& scaled,
                                                int e, const std::byte* const (&codes)[kTiles],
                                                V (&sums)[kQueries][kVectors]) {
  constexpr int kOfTile = kVectors / kTiles;
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i) {
    const int tile = i / kOfTile;
    const V code = V::template Codes<kHigh>(codes[tile] + i % kOfTile * V::kLanes);
    const V key = Sub(code, V::Of(scaled.zeros[tile][e]));
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q)
      sums[q][i] = Fma(V::Of(scaled.at[tile][q][e]), key, sums[q][i]);
  }
}

// weights[q][16 t ..] = the scores of query q and the keys of the kTiles tiles from t on.
template <class V, int kTiles, int kQueries>
[[gnu::always_inline]] inline void ScoreSealed(const AttendWork& work, int t,
                                               const float* const (&queries)[kQueries],
                                               const ChunkTiles* next,
                                               float (*weights)[kChunkKeys]) {
  constexpr int kVectors = kTiles * kTileKeys / V::kLanes;
  V sums[kQueries][kVectors];
  Clear(sums);
  ScaledQueries<kTiles, kQueries> scaled;
  for (int d = 0; d < work.head_dim; d += kSealedDims) {
    ScaleQueries<V, kTiles>(work, t, d, queries, scaled);
    for (int e = 0; e < kSealedDims; e += 2) {
      const int at = (d + e) * kKeyTileDimBytes;
      const std::byte* codes[kTiles];
#pragma GCC unroll 16
      for (int i = 0; i < kTiles; ++i) codes[i] = work.chunk->keys[t + i] + at;
      if (next != nullptr)
        for (int i = 0; i < kTiles; ++i) FetchHalfLine(next->keys[t + i], at);
      AddDimension<V, false>(scaled, e, codes, sums);
      AddDimension<V, true>(scaled, e + 1, codes, sums);
    }
    if (next != nullptr) {
      for (int i = t; i < t + kTiles; ++i) {
        Fetch(next->key_scales[i] + d);
        Fetch(next->key_zeros[i] + d);
        Fetch(next->value_scales[i] + d / kSealedDims * kTileKeys);
      }
    }
  }
  const V factor = V::Of(work.scale * kLog2E);
#pragma GCC unroll 16
  for (int i = 0; i < kVectors; ++i)
#pragma GCC unroll 16
    for (int q = 0; q < kQueries; ++q)
      Put(Mul(sums[q][i], factor), weights[q] + t * kTileKeys + i * V::kLanes);
}

// scaled[g][q][j] = weights[q][j] times the scale of value j for the g-th 32 dimensions from d on.
template <class V, int kGroups, int kQueries>
[[gnu::always_inline]] inline void ScaleSealed(const AttendWork& work,
                                               const TileQueries<kQueries>& queries, int d,
                                               const float (*weights)[kChunkKeys],
                                               float (&scaled)[kGroups][kQueries][kChunkKeys]) {
  for (int t = queries.begin / kTileKeys; t * kTileKeys < queries.end; ++t) {
    for (int g = 0; g < kGroups; ++g) {
      const std::uint16_t* scales = work.chunk->value_scales[t] + (d / kSealedDims + g) * kTileKeys;
      for (int lane = 0; lane < kTileKeys; lane += V::kLanes) {
        const V scale = V::Widen(F16(), scales + lane);
        const int j = t * kTileKeys + lane;
#pragma GCC unroll 16
        for (int q = 0; q < kQueries; ++q)
          Put(Mul(V::Load(weights[q] + j), scale), scaled[g][q] + j);
      }
    }
  }
}

// Number i of kWidth vectors of a value's dimensions, the first of which is in the high nibbles of
// its codes where kHigh; there are more than those then only where kWidth vectors are 32
// dimensions.
template <class V, bool kHigh, int kWidth>
[[gnu::always_inline]] inline V SealedValue(const std::byte* codes, int i) {
  constexpr int kHalf = kSealedDims / 2;
  const int d = i * V::kLanes;
  const std::byte* at = codes + d / kSealedDims * kHalf + d % kHalf;
  const V zero = V::Of(static_cast<float>(kValueZero));
  if (kHigh != (d / kHalf % 2 == 1)) return Sub(V::template Codes<true>(at), zero);
  return Sub(V::template Codes<false>(at), zero);
}

// The weighted sums of the values in kWidth vectors from dimension d on, to the results.
template <class V, bool kHigh, int kWidth, int kQueries>
[[gnu::always_inline]] inline void SumSealed(const AttendWork& work,
                                             float* const (&results)[kQueries],
                                             const TileQueries<kQueries>& queries, int d,
                                             const float (*weights)[kChunkKeys],
                                             const Factors (&factors)[kQueries],
                                             const ChunkTiles* next) {
  constexpr int kDims = kWidth * V::kLanes;
  constexpr int kGroups = (kDims + kSealedDims - 1) / kSealedDims;
  alignas(64) float scaled[kGroups][kQueries][kChunkKeys];
  ScaleSealed<V>(work, queries, d, weights, scaled);
  V sums[kQueries][kWidth];
  Clear(sums);
  const int row = work.head_dim / 2;
  const int in_row = d / kSealedDims * (kSealedDims / 2) + d % (kSealedDims / 2);
  const auto all = [&](int j, int end) __attribute__((always_inline)) {
    const int at = j % kTileKeys * row + in_row;
    const std::byte* codes = work.chunk->values[j / kTileKeys] + at;
    const bool fetch = !kHigh && next != nullptr && in_row % kSealedLine == 0;
    const std::byte* next_codes = fetch ? next->values[j / kTileKeys] + at : nullptr;
    for (; j < end; ++j, codes += row) {
      if (fetch) {
        Fetch(next_codes);
        next_codes += row;
      }
#pragma GCC unroll 16
      for (int i = 0; i < kWidth; ++i) {
        const V value = SealedValue<V, kHigh, kWidth>(codes, i);
#pragma GCC unroll 16
        for (int q = 0; q < kQueries; ++q)
          sums[q][i] = Fma(V::Of(scaled[i * V::kLanes / kSealedDims][q][j]), value, sums[q][i]);
      }
    }
  };
  const auto some = [&](int j, int end) __attribute__((always_inline)) {
    for (; j < end; ++j) {
      const std::byte* codes = work.chunk->values[j / kTileKeys] + j % kTileKeys * row + in_row;
#pragma GCC unroll 16
      for (int q = 0; q < kQueries; ++q) {
        if (j < queries.first[q] || queries.last[q] <= j) continue;
#pragma GCC unroll 16
        for (int i = 0; i < kWidth; ++i)
          sums[q][i] = Fma(V::Of(scaled[i * V::kLanes / kSealedDims][q][j]),
                           SealedValue<V, kHigh, kWidth>(codes, i), sums[q][i]);
      }
    }
  };
  OverKeys(queries, all, some);
  PutSums<V, kQueries, kWidth>(work, sums, Int4::kUnit, factors, d, results);
}

// S is a register of eight floats, or V itself, as in AttendTile.
template <class V, int kQueries, int kWidth, class S = V>
void AttendSealed(const AttendWork& work, const AttendQuery* from, const ChunkTiles* next) {
  using Weights = float(&)[kQueries][kChunkKeys];
  constexpr int kTiles = kWidth * V::kLanes / kTileKeys;
  constexpr int kDims = kWidth * V::kLanes;
  AttendBy<S, kQueries>(
      work, from, Int4::kUnit,
      [&](const TileQueries<kQueries>& queries, Weights weights) __attribute__((always_inline)) {
        int t = queries.begin / kTileKeys;
        const int end = (queries.end + kTileKeys - 1) / kTileKeys;
        for (; t + kTiles <= end; t += kTiles)
          ScoreSealed<V, kTiles>(work, t, queries.at, next, weights);
        if constexpr (kTiles > 1)
          for (; t < end; ++t) ScoreSealed<V, 1>(work, t, queries.at, next, weights);
      },
      [&](const TileQueries<kQueries>& queries, Weights weights, float* const(&results)[kQueries],
          const Factors(&factors)[kQueries]) __attribute__((always_inline)) {
        int d = 0;
        if constexpr (kDims >= kSealedDims)
          for (; d + kDims <= work.head_dim; d += kDims)
            SumSealed<V, false, kWidth>(work, results, queries, d, weights, factors, next);
        constexpr int kLeft = kSealedDims / 2 / S::kLanes;  // half of 32 dimensions
        for (; d < work.head_dim; d += kSealedDims / 2) {
          if (d % kSealedDims == 0)
            SumSealed<S, false, kLeft>(work, results, queries, d, weights, factors, next);
          else
            SumSealed<S, true, kLeft>(work, results, queries, d, weights, factors, next);
        }
      });
}

}  // namespace
}  // namespace banyan::kernels
