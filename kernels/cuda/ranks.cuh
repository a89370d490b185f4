// The order of a row's tokens, and where a part of it ends that is asked for by number or by
// weight.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/reduce.cuh"

namespace banyan::kernels::cuda {

using Sum64 = unsigned long long;  // atomicAdd's type

// Of a token: the greater the earlier. The greater logit first, the lower id among equals.
__device__ __forceinline__ Sum64 RankOf(float logit, int token) {
  const unsigned bits = __float_as_uint(logit + 0.0F);  // 0 has no sign
  const unsigned ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
  return static_cast<Sum64>(ordered) << 32 | (0xffffffffU - static_cast<unsigned>(token));
}

// Sums of a warp's lanes up to each.
__device__ __forceinline__ Sum64 WarpSumUpTo(Sum64 x) {
  for (int bits = 1; bits < kWarp; bits *= 2) {
    const Sum64 before = __shfl_up_sync(kAllLanes, x, bits);
    if (static_cast<int>(threadIdx.x % kWarp) >= bits) x += before;
  }
  return x;
}

// Memory of RankOfLast, of one kernel.
inline constexpr int kDigits = 256;
struct RankMemory {
  Shared<Sum64> bins;   // [kDigits]
  Shared<Sum64> found;  // [2]: the digit, and what is wanted of it
};
template <class Tag>
__device__ __forceinline__ RankMemory MakeRankMemory() {
  return {StaticShared<Sum64, kDigits, Tag>(), StaticShared<Sum64, 2, Tag*>()};
}

// By a warp: in which bin, from the last one on, sums reach `wanted`.
__device__ __forceinline__ void FindDigit(const RankMemory& memory, Sum64 wanted) {
  constexpr int kEach = kDigits / kWarp;
  const int lane = threadIdx.x % kWarp;
  const int last = kDigits - 1 - lane * kEach;
  Sum64 own = 0;
  for (int i = 0; i < kEach; ++i) own += memory.bins[last - i];
  const Sum64 up_to = WarpSumUpTo(own);
  Sum64 before = up_to - own;
  if (before >= wanted || wanted > up_to) return;
  for (int digit = last;; --digit) {
    const Sum64 bin = memory.bins[digit];
    if (before + bin >= wanted) {
      memory.found[0] = static_cast<Sum64>(digit);
      memory.found[1] = wanted - before;
      return;
    }
    before += bin;
  }
}

// The rank of the last of the fewest first tokens that weigh `wanted` together, which is at least 1
// and no more than all do: token i of `count` weighs weight(i) and has rank(i). By all threads of a
// block, who get the same; digit by digit from the highest.
template <int kThreads, class Rank, class Weight>
__device__ __forceinline__ Sum64 RankOfLast(const RankMemory& memory, int count, Sum64 wanted,
                                            const Rank& rank, const Weight& weight) {
  constexpr int kDigitBits = 8;
  static_assert(kThreads >= kDigits);
  Sum64 prefix = 0;
  for (int shift = 64 - kDigitBits; shift >= 0; shift -= kDigitBits) {
    if (threadIdx.x < kDigits) memory.bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += kThreads) {
      const Sum64 own = rank(i) >> shift;
      const Sum64 weighs = own >> kDigitBits == prefix ? weight(i) : 0;
      if (weighs > 0) atomicAdd(memory.bins + static_cast<int>(own % kDigits), weighs);
    }
    __syncthreads();
    if (threadIdx.x < kWarp) FindDigit(memory, wanted);
    __syncthreads();
    prefix = prefix << kDigitBits | memory.found[0];
    wanted = memory.found[1];
  }
  return prefix;
}

}  // namespace banyan::kernels::cuda
