// Products of attention, by tensor cores: a warp's queries with a block of keys, and the weights
// that follow with its values.
#pragma once

#include "kernels/cuda/attention_memory.cuh"
#include "kernels/cuda/attention_sums.cuh"
#include "kernels/cuda/device.h"

namespace banyan::kernels::cuda {

// Where the row begins that a lane names for four matrices, which are 16 rows and 16 columns of a
// greater one: those below each other come first, or those beside each other.
template <class Memory>
__device__ __forceinline__ int BelowFirst(int lane) {
  return lane % 16 * Memory::kRow + lane / 16 * 8;
}
template <class Memory>
__device__ __forceinline__ int BesideFirst(int lane) {
  return (lane / 16 * 8 + lane % 8) * Memory::kRow + lane / 8 % 2 * 8;
}

// The warp's queries, in registers where those are enough; else read for every block of keys.
template <int kDims, class Memory>
struct QueryFragments {
  static constexpr bool kKept = kDims <= 64;

  __device__ explicit QueryFragments(const Memory& memory)
      : first(memory.queries + (threadIdx.x / kWarp * kWarpQueries * Memory::kRow +
                                BelowFirst<Memory>(threadIdx.x % kWarp))) {
    if constexpr (kKept)
      UNROLLED for (int d = 0; d < kDims / 16; ++d) LoadMatrices(kept[d].pairs, first + 16 * d);
  }
  // Dimensions 16 d .. 16 d + 15.
  __device__ FragmentA At(int d) const {
    if constexpr (kKept) return kept[d];
    FragmentA loaded;
    LoadMatrices(loaded.pairs, first + 16 * d);
    return loaded;
  }

  Shared<std::uint16_t> first;
  FragmentA kept[kKept ? kDims / 16 : 1];
};

// scores[t] = of the warp's queries and keys 8 t .. 8 t + 7.
template <class T, int kDims, class Memory>
__device__ __forceinline__ void ScoreKeys(const QueryFragments<kDims, Memory>& queries,
                                          const KeyBlock<Memory>& block,
                                          FragmentC (&scores)[Memory::kKeys / 8]) {
  const int lane = threadIdx.x % kWarp;
  UNROLLED for (int t = 0; t < Memory::kKeys / 8; ++t) scores[t] = {};
  UNROLLED for (int d = 0; d < kDims / 16; ++d) {
    const FragmentA query = queries.At(d);
    UNROLLED for (int t = 0; t < Memory::kKeys / 8; t += 2) {
      std::uint32_t pairs[4];
      LoadMatrices(pairs, block.keys + (8 * t * Memory::kRow + 16 * d + BesideFirst<Memory>(lane)));
      MmaM16N8K16<T>(scores[t], query, {{pairs[0], pairs[1]}});
      MmaM16N8K16<T>(scores[t + 1], query, {{pairs[2], pairs[3]}});
    }
  }
}

// Scores of a lane's query n become weights of the keys that it sees, 0 of others. What was summed
// before is to be multiplied with what is returned.
template <KvFormat kFormat, class Memory>
__device__ __forceinline__ float WeighKeys(const KeyBlock<Memory>& block, int n, int first_key,
                                           bool all_seen, QueryState& query,
                                           FragmentC (&scores)[Memory::kKeys / 8]) {
  const int lane = threadIdx.x % kWarp;
  float greatest = -INFINITY;
  UNROLLED for (int t = 0; t < Memory::kKeys / 8; ++t) {
    UNROLLED for (int half = 0; half < 2; ++half) {
      const int j = 8 * t + PlaceInC(lane, half).column;
      float& score = scores[t].values[2 * n + half];
      if constexpr (kFormat == KvFormat::kInt8) score *= block.scales[j];
      if (!all_seen && !query.Sees(first_key + j)) score = -INFINITY;
      greatest = fmaxf(greatest, score);
    }
  }
  greatest = fmaxf(query.greatest, QuadGreatest(greatest));
  const float base = greatest == -INFINITY ? 0.0F : greatest;  // where nothing is seen as yet
  const float factor = exp2f(query.greatest - base);
  query.greatest = greatest;
  float sum = 0.0F;
  UNROLLED for (int t = 0; t < Memory::kKeys / 8; ++t) {
    UNROLLED for (int half = 0; half < 2; ++half) {
      const int j = 8 * t + PlaceInC(lane, half).column;
      float& weight = scores[t].values[2 * n + half];
      weight = exp2f(weight - base);
      sum += weight;
      if constexpr (kFormat == KvFormat::kInt8) weight *= block.scales[Memory::kKeys + j];
    }
  }
  query.sum = fmaf(query.sum, factor, sum);
  return factor;
}

// sums[t] += of the warp's queries, dimensions 8 t .. 8 t + 7.
template <class T, int kDims, class Memory>
__device__ __forceinline__ void SumValues(const KeyBlock<Memory>& block,
                                          const FragmentC (&weights)[Memory::kKeys / 8],
                                          FragmentC (&sums)[kDims / 8]) {
  const int lane = threadIdx.x % kWarp;
  UNROLLED for (int t = 0; t < Memory::kKeys / 8; t += 2) {
    // Two products' sums, side by side, are laid out as one's left operand.
    const float(&low)[4] = weights[t].values;
    const float(&high)[4] = weights[t + 1].values;
    const FragmentA of_keys{{RoundedPair<T>(low[0], low[1]), RoundedPair<T>(low[2], low[3]),
                             RoundedPair<T>(high[0], high[1]), RoundedPair<T>(high[2], high[3])}};
    UNROLLED for (int d = 0; d < kDims / 8; d += 2) {
      std::uint32_t pairs[4];
      LoadMatricesTransposed(
          pairs, block.values + (8 * t * Memory::kRow + 8 * d + BelowFirst<Memory>(lane)));
      MmaM16N8K16<T>(sums[d], of_keys, {{pairs[0], pairs[1]}});
      MmaM16N8K16<T>(sums[d + 1], of_keys, {{pairs[2], pairs[3]}});
    }
  }
}

// The warp's queries attend to a block of keys.
template <KvFormat kFormat, int kDims, class Memory>
__device__ __forceinline__ void AttendToKeys(const QueryFragments<kDims, Memory>& fragments,
                                             const KeyBlock<Memory>& block, int first_key,
                                             bool all_seen, QueryState (&queries)[2],
                                             ValueSums<kDims>& sums) {
  using T = ProductType<kFormat>;
  FragmentC scores[Memory::kKeys / 8];
  ScoreKeys<T, kDims>(fragments, block, scores);
  UNROLLED for (int n = 0; n < 2; ++n) {
    const float factor = WeighKeys<kFormat>(block, n, first_key, all_seen, queries[n], scores);
    if (factor == 1.0F) continue;
    UNROLLED for (int t = 0; t < kDims / 8; ++t) {
      sums.chunk[t].values[2 * n] *= factor;
      sums.chunk[t].values[2 * n + 1] *= factor;
    }
  }
  SumValues<T, kDims>(block, scores, sums.chunk);
}

}  // namespace banyan::kernels::cuda
