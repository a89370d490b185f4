// Sums over a warp and a block, in one order: lanes by halves, then warps by their index.
#pragma once

#include "kernels/cuda/device.h"

namespace banyan::kernels::cuda {

inline constexpr unsigned kAllLanes = 0xffffffffU;
inline constexpr int kWarp = 32;

// Every lane gets the same bits.
template <class T>
__device__ __forceinline__ T WarpSum(T x) {
  for (int bits = kWarp / 2; bits > 0; bits /= 2) x += __shfl_xor_sync(kAllLanes, x, bits);
  return x;
}

__device__ __forceinline__ float WarpGreatest(float x) {
  for (int bits = kWarp / 2; bits > 0; bits /= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, bits));
  return x;
}

// Once in a kernel, by all of its kThreads threads, who get the same bits.
template <int kThreads, class T>
__device__ __forceinline__ T BlockSum(T x) {
  constexpr int kWarps = kThreads / kWarp;
  Shared<T> sums = StaticShared<T, kWarps, struct BlockSumMemory>();
  x = WarpSum(x);
  if (threadIdx.x % kWarp == 0) sums[threadIdx.x / kWarp] = x;
  __syncthreads();
  T sum = 0;
  for (int warp = 0; warp < kWarps; ++warp) sum += sums[warp];
  return sum;
}

template <int kThreads>
__device__ __forceinline__ float BlockGreatest(float x) {
  constexpr int kWarps = kThreads / kWarp;
  Shared<float> greatest = StaticShared<float, kWarps, struct BlockGreatestMemory>();
  x = WarpGreatest(x);
  if (threadIdx.x % kWarp == 0) greatest[threadIdx.x / kWarp] = x;
  __syncthreads();
  for (int warp = 0; warp < kWarps; ++warp) x = fmaxf(x, greatest[warp]);
  return x;
}

}  // namespace banyan::kernels::cuda
