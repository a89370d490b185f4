// Root mean square norms. Thread t sums the squares of values t, t + threads, ..; then reduce.cuh.

#include "kernels/cuda/device.h"
#include "kernels/cuda/dispatch.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 256;  // of a row
constexpr int kHeadWarps = 4;  // of a block; each has a head

__device__ __forceinline__ float InverseRoot(float squares, int count, float eps) {
  return 1.0F / sqrtf(squares / static_cast<float>(count) + eps);
}

// Of a block for a row: 1 / sqrt(mean(x^2) + eps).
__device__ __forceinline__ float RowInverseRoot(const float* x, int cols, float eps) {
  float squares = 0.0F;
  for (int i = threadIdx.x; i < cols; i += kThreads) squares = fmaf(x[i], x[i], squares);
  return InverseRoot(BlockSum<kThreads>(squares), cols, eps);
}

template <class T>
__global__ void RmsNormKernel(const float* __restrict__ x, const std::int32_t* __restrict__ chosen,
                              const float* __restrict__ weight, float eps, int cols,
                              T* __restrict__ out) {
  const std::int64_t row = chosen == nullptr ? blockIdx.x : chosen[blockIdx.x];
  const float* from = x + row * cols;
  T* to = out + std::int64_t{blockIdx.x} * cols;
  const float inverse = RowInverseRoot(from, cols, eps);
  for (int i = threadIdx.x; i < cols; i += kThreads)
    to[i] = Rounded<T>(from[i] * inverse * weight[i]);
}

__global__ void RmsNormAddKernel(const float* __restrict__ in, const float* __restrict__ weight,
                                 float eps, int cols, float* __restrict__ x) {
  const float* from = in + std::int64_t{blockIdx.x} * cols;
  float* to = x + std::int64_t{blockIdx.x} * cols;
  const float inverse = RowInverseRoot(from, cols, eps);
  for (int i = threadIdx.x; i < cols; i += kThreads)
    to[i] = fmaf(from[i] * inverse, weight[i], to[i]);
}

__global__ void RmsNormHeadsKernel(const float* __restrict__ weight, float eps, std::int64_t heads,
                                   int head_dim, float* __restrict__ x) {
  const std::int64_t head = std::int64_t{blockIdx.x} * kHeadWarps + threadIdx.x / kWarp;
  if (head >= heads) return;  // a whole warp
  float* values = x + head * head_dim;
  const int lane = threadIdx.x % kWarp;
  float squares = 0.0F;
  for (int i = lane; i < head_dim; i += kWarp) squares = fmaf(values[i], values[i], squares);
  const float inverse = InverseRoot(WarpSum(squares), head_dim, eps);
  for (int i = lane; i < head_dim; i += kWarp) values[i] = values[i] * inverse * weight[i];
}

}  // namespace

void RmsNorm(Stream stream, const float* x, const std::int32_t* chosen, const float* weight,
             float eps, std::int32_t rows, std::int32_t cols, Output out) {
  if (rows == 0) return;
  ForType(out.type, [&](auto number) {
    using T = decltype(number);
    Launch(RmsNormKernel<T>, static_cast<unsigned>(rows), kThreads, 0, stream, x, chosen, weight,
           eps, cols, static_cast<T*>(out.data));
  });
}

void RmsNormAdd(Stream stream, const float* in, const float* weight, float eps, std::int32_t rows,
                std::int32_t cols, float* x) {
  if (rows == 0) return;
  Launch(RmsNormAddKernel, static_cast<unsigned>(rows), kThreads, 0, stream, in, weight, eps, cols,
         x);
}

void RmsNormHeads(Stream stream, const float* weight, float eps, std::int64_t heads,
                  std::int32_t head_dim, float* x) {
  if (heads == 0) return;
  Launch(RmsNormHeadsKernel, static_cast<unsigned>((heads + kHeadWarps - 1) / kHeadWarps),
         kHeadWarps * kWarp, 0, stream, weight, eps, heads, head_dim, x);
}

}  // namespace banyan::kernels::cuda
