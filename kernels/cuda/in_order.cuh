// Who of a block's threads are meant, in their order.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/ranks.cuh"
#include "kernels/cuda/reduce.cuh"

namespace banyan::kernels::cuda {

// Of those who are meant: how many come before this thread, and how many there are. By all threads
// of a block; memory of one use in a kernel, which may be in a loop.
struct InOrder {
  int before;
  int all;
};
template <int kThreads, class Tag>
__device__ __forceinline__ InOrder CountInOrder(bool is_meant) {
  constexpr int kWarps = kThreads / kWarp;
  Shared<int> of_warps = StaticShared<int, kWarps, Tag>();
  const int warp = threadIdx.x / kWarp;
  const auto up_to = static_cast<int>(WarpSumUpTo(is_meant ? 1 : 0));
  __syncthreads();  // who read before has done so
  if (threadIdx.x % kWarp == kWarp - 1) of_warps[warp] = up_to;
  __syncthreads();
  InOrder out{up_to - (is_meant ? 1 : 0), 0};
  for (int i = 0; i < kWarps; ++i) {
    if (i < warp) out.before += of_warps[i];
    out.all += of_warps[i];
  }
  return out;
}

}  // namespace banyan::kernels::cuda
