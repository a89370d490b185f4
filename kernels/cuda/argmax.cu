// Which value of a row is the greatest.

#include "kernels/cuda/best.cuh"
#include "kernels/cuda/device.h"
#include "kernels/cuda/kernels.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 512;

__global__ void ArgmaxKernel(const float* __restrict__ x, int cols,
                             std::int32_t* __restrict__ out) {
  const float* row = x + std::int64_t{blockIdx.x} * cols;
  RowBest best;
  for (int i = threadIdx.x; i < cols; i += kThreads) best.Take(row[i], i);
  best = BlockBest<kThreads>(best);
  if (threadIdx.x == 0) out[blockIdx.x] = best.finite ? best.best.index : -1;
}

}  // namespace

void Argmax(Stream stream, const float* x, std::int32_t rows, std::int32_t cols,
            std::int32_t* out) {
  if (rows == 0) return;
  Launch(ArgmaxKernel, static_cast<unsigned>(rows), kThreads, 0, stream, x, cols, out);
}

}  // namespace banyan::kernels::cuda
