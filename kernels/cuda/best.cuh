// The greatest of a row's values, the first of equals.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/reduce.cuh"

namespace banyan::kernels::cuda {

struct Best {
  static constexpr std::int32_t kNone = 0x7fffffff;

  float value = -INFINITY;
  std::int32_t index = kNone;

  __device__ void Take(float other_value, std::int32_t other_index) {
    if (other_value > value || (other_value == value && other_index < index)) {
      value = other_value;
      index = other_index;
    }
  }
};

// Of a row, and whether all of it is finite.
struct RowBest {
  Best best;
  bool finite = true;

  __device__ void Take(float value, std::int32_t index) {
    finite = finite && fabsf(value) < INFINITY;
    best.Take(value, index);
  }
};

// Once in a kernel, by all of its kThreads threads, who get the same.
template <int kThreads>
__device__ __forceinline__ RowBest BlockBest(RowBest of_thread) {
  constexpr int kWarps = kThreads / kWarp;
  Best best = of_thread.best;
  for (int bits = kWarp / 2; bits > 0; bits /= 2) {
    const float value = __shfl_xor_sync(kAllLanes, best.value, bits);
    const std::int32_t index = __shfl_xor_sync(kAllLanes, best.index, bits);
    best.Take(value, index);
  }
  Shared<float> values = StaticShared<float, kWarps, struct BestValues>();
  Shared<std::int32_t> indices = StaticShared<std::int32_t, kWarps, struct BestIndices>();
  if (threadIdx.x % kWarp == 0) {
    values[threadIdx.x / kWarp] = best.value;
    indices[threadIdx.x / kWarp] = best.index;
  }
  const bool finite = __syncthreads_or(of_thread.finite ? 0 : 1) == 0;
  for (int warp = 0; warp < kWarps; ++warp) best.Take(values[warp], indices[warp]);
  return {best, finite};
}

}  // namespace banyan::kernels::cuda
