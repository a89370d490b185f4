// The softmax of attend_tile.h: scores of a chunk to weights, and how partial results become one.
#pragma once

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

template <class V, int kQueries, int kWidth>
[[gnu::always_inline]] inline void Clear(V (&sums)[kQueries][kWidth]) {
#pragma GCC unroll 16
  for (int q = 0; q < kQueries; ++q)
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) sums[q][i] = V::Of(0.0F);
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

}  // namespace
}  // namespace banyan::kernels
