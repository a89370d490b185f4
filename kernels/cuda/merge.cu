// Of rows that attend chunk by chunk: what their chunks are worth, added in their order.

#include "kernels/cuda/attend.h"
#include "kernels/cuda/attention_sums.cuh"
#include "kernels/cuda/device.h"
#include "kernels/cuda/dispatch.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kMergeThreads = 128;

template <class T>
__global__ void MergeKernel(const std::int32_t* __restrict__ first_item, AttentionPart part,
                            AttentionPartials partials, int head_dim, T* __restrict__ out) {
  const std::int64_t row = part.first_row + static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t heads = gridDim.y;
  const int begin = first_item[row] - part.first_item;
  const int end = first_item[row + 1] - part.first_item;
  if (begin == end) return;  // it has attended whole
  for (int d = threadIdx.x; d < head_dim; d += kMergeThreads) {
    float greatest = -INFINITY;
    float sum = 0.0F;
    float value = 0.0F;
    for (int item = begin; item < end; ++item) {
      const std::int64_t at = item * heads + blockIdx.y;
      if (partials.sums[at] == 0.0F) continue;
      const Factors factors = Raise(greatest, partials.greatest[at]);
      sum = Sum(factors, sum, partials.sums[at]);
      value = Sum(factors, value, partials.values[at * head_dim + d]);
    }
    out[(row * heads + blockIdx.y) * head_dim + d] = Rounded<T>(value / sum);
  }
}

}  // namespace

void MergeChunks(Stream stream, const AttentionWork& work, const AttentionPart& part,
                 const AttentionPartials& partials, std::int32_t heads, std::int32_t head_dim,
                 const Output& out) {
  ForType(out.type, [&](auto number) {
    using T = decltype(number);
    Launch(MergeKernel<T>, dim3(static_cast<unsigned>(part.rows), static_cast<unsigned>(heads)),
           kMergeThreads, 0, stream, work.first_item, part, partials, head_dim,
           static_cast<T*>(out.data));
  });
}

}  // namespace banyan::kernels::cuda
