// Products of few rows with a matrix of blocks, which is dequantized in registers: a warp has one
// output of up to kBlockRows rows. Lane l sums values 8 l .. 8 l + 7 of every 256 in order; lanes
// by halves.

#include "kernels/cuda/blocks.cuh"
#include "kernels/cuda/blocks.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/dispatch.h"
#include "kernels/cuda/reduce.cuh"

namespace banyan::kernels::cuda {
namespace {

constexpr int kWarps = 4;
constexpr int kThreads = kWarps * kWarp;

struct Task {
  const std::byte* weights;
  const float* bias;
  float* y;
  std::int64_t outputs;
  std::int64_t inputs;
  std::int32_t rows;
  bool adds;
};

template <class B, class T>
__global__ void __launch_bounds__(kThreads)
    MultiplyBlocksKernel(Task task, const T* __restrict__ x) {
  constexpr int kUnits = B::kValues / kEight;  // of a block
  const std::int64_t output = std::int64_t{blockIdx.x} * kWarps + threadIdx.x / kWarp;
  if (output >= task.outputs) return;  // a whole warp
  const std::byte* row = task.weights + output * (task.inputs / B::kValues) * B::kBytes;
  const int first_row = static_cast<int>(blockIdx.y) * kBlockRows;
  const int rows = task.rows - first_row < kBlockRows ? task.rows - first_row : kBlockRows;
  float sums[kBlockRows] = {};
  for (std::int64_t unit = threadIdx.x % kWarp; unit < task.inputs / kEight; unit += kWarp) {
    float weights[kEight];
    B::Load(row + unit / kUnits * B::kBytes, static_cast<int>(unit % kUnits) * kEight, weights);
    for (int r = 0; r < kBlockRows; ++r) {
      if (r >= rows) continue;
      const T* from = x + (first_row + r) * task.inputs + unit * kEight;
      for (int i = 0; i < kEight; ++i) sums[r] = fmaf(weights[i], ToFloat(from[i]), sums[r]);
    }
  }
  for (int r = 0; r < kBlockRows; ++r) {
    if (r >= rows) continue;
    const float sum = WarpSum(sums[r]) + (task.bias == nullptr ? 0.0F : task.bias[output]);
    if (threadIdx.x % kWarp != 0) continue;
    float& y = task.y[(first_row + r) * task.outputs + output];
    y = task.adds ? y + sum : sum;
  }
}

}  // namespace

void MultiplyBlocks(Stream stream, const BlockProduct& product) {
  const BlockMatrix& w = product.weights;
  if (product.rows == 0 || w.rows == 0) return;
  const Task task{w.data, product.bias, product.y, w.rows, w.cols, product.rows, product.adds};
  const dim3 grid(static_cast<unsigned>((w.rows + kWarps - 1) / kWarps),
                  static_cast<unsigned>((product.rows + kBlockRows - 1) / kBlockRows));
  ForBlock(w.type, [&](auto block) {
    ForType(product.x.type, [&](auto number) {
      using B = decltype(block);
      using T = decltype(number);
      Require(w.cols % B::kValues == 0, "MultiplyBlocks: rows are whole blocks");
      Launch(MultiplyBlocksKernel<B, T>, grid, kThreads, 0, stream, task,
             static_cast<const T*>(product.x.data));
    });
  });
}

}  // namespace banyan::kernels::cuda
