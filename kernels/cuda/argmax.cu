// Which value of a row is the greatest.

#include "kernels/cuda/device.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 512;
constexpr int kWarps = kThreads / kWarp;
constexpr std::int32_t kNone = 0x7fffffff;

struct Best {
  float value;
  std::int32_t index;

  // The greater, the first of equals.
  __device__ void Take(float other_value, std::int32_t other_index) {
    if (other_value > value || (other_value == value && other_index < index)) {
      value = other_value;
      index = other_index;
    }
  }
};

__global__ void ArgmaxKernel(const float* __restrict__ x, int cols,
                             std::int32_t* __restrict__ out) {
  const float* row = x + std::int64_t{blockIdx.x} * cols;
  Best best{-INFINITY, kNone};
  bool finite = true;
  for (int i = threadIdx.x; i < cols; i += kThreads) {
    const float value = row[i];
    finite = finite && fabsf(value) < INFINITY;
    best.Take(value, i);
  }
  for (int bits = kWarp / 2; bits > 0; bits /= 2) {
    const float value = __shfl_xor_sync(kAllLanes, best.value, bits);
    const std::int32_t index = __shfl_xor_sync(kAllLanes, best.index, bits);
    best.Take(value, index);
  }
  Shared<float> values = StaticShared<float, kWarps, struct ArgmaxValues>();
  Shared<std::int32_t> indices = StaticShared<std::int32_t, kWarps, struct ArgmaxIndices>();
  if (threadIdx.x % kWarp == 0) {
    values[threadIdx.x / kWarp] = best.value;
    indices[threadIdx.x / kWarp] = best.index;
  }
  const bool all_finite = __syncthreads_or(finite ? 0 : 1) == 0;
  if (threadIdx.x != 0) return;
  for (int warp = 1; warp < kWarps; ++warp) best.Take(values[warp], indices[warp]);
  out[blockIdx.x] = all_finite ? best.index : -1;
}

}  // namespace

void Argmax(Stream stream, const float* x, std::int32_t rows, std::int32_t cols,
            std::int32_t* out) {
  if (rows == 0) return;
  Launch(ArgmaxKernel, static_cast<unsigned>(rows), kThreads, 0, stream, x, cols, out);
}

}  // namespace banyan::kernels::cuda
