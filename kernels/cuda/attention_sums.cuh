// Sums of attention: how what a chunk is worth is added to what those before were, by registers or
// by the merge kernel, to the same bits.
#pragma once

#include "kernels/cuda/attention.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/reduce.cuh"

namespace banyan::kernels::cuda {

// What is left of a sum when a chunk, or a block of keys, is added whose scores are greater, and
// what is taken of that.
struct Factors {
  float kept;
  float added;
};
__device__ __forceinline__ Factors Raise(float& greatest, float added) {
  const float raised = fmaxf(greatest, added);
  const Factors factors{exp2f(greatest - raised), exp2f(added - raised)};
  greatest = raised;
  return factors;
}
__device__ __forceinline__ float Sum(const Factors& factors, float sum, float added) {
  return fmaf(factors.kept, sum, factors.added * added);
}

// A query whose sums a lane has: what it sees, and what it has of the chunk and of those before.
struct QueryState {
  KeyRange seen;
  float greatest = -INFINITY;
  float sum = 0.0F;  // of the lane's keys
  float greatest_before = -INFINITY;
  float sum_before = 0.0F;

  __device__ bool Sees(int key) const { return key >= seen.begin && key < seen.end; }
};

// Sums of values, weighted: query n of a lane has values 2 n and 2 n + 1 of each.
template <int kDims>
struct ValueSums {
  static constexpr bool kHasBefore = kDims <= AttentionTile::kMaxWholeDims;
  FragmentC chunk[kDims / 8] = {};
  FragmentC before[kHasBefore ? kDims / 8 : 1] = {};
};

// The greatest, or the sum, of the four lanes that have a query.
__device__ __forceinline__ float QuadGreatest(float x) {
  for (int bits = 1; bits < 4; bits *= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, bits));
  return x;
}
__device__ __forceinline__ float QuadSum(float x) {
  for (int bits = 1; bits < 4; bits *= 2) x += __shfl_xor_sync(kAllLanes, x, bits);
  return x;
}

// A chunk is at its end: what it is worth is added to what those before were.
template <int kDims>
__device__ __forceinline__ void AddChunk(QueryState (&queries)[2], ValueSums<kDims>& sums) {
  UNROLLED for (int n = 0; n < 2; ++n) {
    QueryState& query = queries[n];
    query.sum = QuadSum(query.sum);
    if constexpr (ValueSums<kDims>::kHasBefore) {
      if (query.sum != 0.0F) {  // some key is seen
        const Factors factors = Raise(query.greatest_before, query.greatest);
        query.sum_before = Sum(factors, query.sum_before, query.sum);
        UNROLLED for (int t = 0; t < kDims / 8; ++t) {
          UNROLLED for (int i = 2 * n; i < 2 * n + 2; ++i) sums.before[t].values[i] =
              Sum(factors, sums.before[t].values[i], sums.chunk[t].values[i]);
        }
      }
      query.greatest = -INFINITY;
      query.sum = 0.0F;
    }
  }
  if constexpr (ValueSums<kDims>::kHasBefore)
    UNROLLED for (int t = 0; t < kDims / 8; ++t) sums.chunk[t] = {};
}

}  // namespace banyan::kernels::cuda
