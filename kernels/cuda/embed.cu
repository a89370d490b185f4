// The rows of an embedding matrix that a step's tokens name.

#include "kernels/cuda/device.h"
#include "kernels/cuda/dispatch.h"
#include "kernels/cuda/kernels.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 128;

template <class T>
__global__ void EmbedKernel(const T* __restrict__ table, std::int64_t cols,
                            const std::int32_t* __restrict__ ids, float factor,
                            float* __restrict__ x) {
  const T* from = table + ids[blockIdx.x] * cols;
  float* to = x + blockIdx.x * cols;
  for (std::int64_t i = threadIdx.x; i < cols; i += kThreads) to[i] = factor * ToFloat(from[i]);
}

}  // namespace

void Embed(Stream stream, Numbers table, std::int64_t cols, const std::int32_t* ids,
           std::int32_t rows, float factor, float* x) {
  if (rows == 0) return;
  ForType(table.type, [&](auto number) {
    using T = decltype(number);
    Launch(EmbedKernel<T>, static_cast<unsigned>(rows), kThreads, 0, stream,
           static_cast<const T*>(table.data), cols, ids, factor, x);
  });
}

}  // namespace banyan::kernels::cuda
