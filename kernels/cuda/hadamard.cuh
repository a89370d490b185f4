// The Walsh-Hadamard transform of a head by a warp: that of kernels/cpu/hadamard.h, to its bits.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"

namespace banyan::kernels::cuda {

// A lane has numbers lane, lane + 32, .. of the head. Numbers that are `apart` become their sum and
// their difference; x is the one of this lane, `other` its partner's.
__device__ __forceinline__ float SumOrDifference(float x, float other, bool upper) {
  return upper ? other - x : x + other;
}

template <int kNumbers>
__device__ __forceinline__ void SpreadWithinLane(float (&x)[kNumbers], int block) {
  for (int step = kNumbers / 2; step > 0; step /= 2) {
    if (2 * step * kWarp > block) continue;
    for (int n = 0; n < kNumbers; ++n) {
      if ((n & step) != 0) continue;
      const float a = x[n];
      const float b = x[n + step];
      x[n] = SumOrDifference(a, b, false);
      x[n + step] = SumOrDifference(b, a, true);
    }
  }
}

// Of the first `numbers` of each lane.
template <int kNumbers>
__device__ __forceinline__ void SpreadBetweenLanes(float (&x)[kNumbers], int numbers, int block,
                                                   int apart) {
  if (2 * apart > block) return;
  const bool upper = (threadIdx.x & static_cast<unsigned>(apart)) != 0;
  for (int n = 0; n < kNumbers; ++n) {
    if (n >= numbers) continue;
    x[n] = SumOrDifference(x[n], __shfl_xor_sync(kAllLanes, x[n], apart), upper);
  }
}

// By a whole warp, of which every lane reads and writes those of its numbers: also in place.
// head_dim is a multiple of 8 up to kMaxHeadDim.
__device__ __forceinline__ void SpreadHead(const float* from, int head_dim, float* to) {
  constexpr int kNumbers = kMaxHeadDim / kWarp;
  const int lane = threadIdx.x % kWarp;
  const int block = head_dim & -head_dim;
  const int numbers = (head_dim + kWarp - 1) / kWarp;
  float x[kNumbers];
  for (int n = 0; n < kNumbers; ++n) {
    const int i = lane + n * kWarp;
    x[n] = i < head_dim ? from[i] : 0.0F;
  }
  // The order of the sums is the CPU's: numbers far apart first, but 1 before 2.
  SpreadWithinLane(x, block);
  for (int apart = kWarp / 2; apart >= 4; apart /= 2) SpreadBetweenLanes(x, numbers, block, apart);
  SpreadBetweenLanes(x, numbers, block, 1);
  SpreadBetweenLanes(x, numbers, block, 2);
  const float scale = 1.0F / sqrtf(static_cast<float>(block));
  for (int n = 0; n < kNumbers; ++n) {
    const int i = lane + n * kWarp;
    if (i < head_dim) to[i] = x[n] * scale;
  }
}

}  // namespace banyan::kernels::cuda
