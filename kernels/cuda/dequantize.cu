// A matrix of blocks as numbers: a thread has eight of them.

#include "kernels/cuda/blocks.cuh"
#include "kernels/cuda/blocks.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/dispatch.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 256;

template <class B, class T>
__global__ void DequantizeKernel(const std::byte* __restrict__ blocks, std::int64_t units,
                                 T* __restrict__ out) {
  constexpr int kUnits = B::kValues / kEight;  // of a block
  const std::int64_t unit = std::int64_t{blockIdx.x} * kThreads + threadIdx.x;
  if (unit >= units) return;
  float values[kEight];
  B::Load(blocks + unit / kUnits * B::kBytes, static_cast<int>(unit % kUnits) * kEight, values);
  for (int i = 0; i < kEight; ++i) out[unit * kEight + i] = Rounded<T>(values[i]);
}

}  // namespace

void Dequantize(Stream stream, const BlockMatrix& matrix, Output out) {
  Require(matrix.cols % kEight == 0, "Dequantize: rows are whole eights");
  const std::int64_t units = matrix.rows * matrix.cols / kEight;
  if (units == 0) return;
  ForBlock(matrix.type, [&](auto block) {
    ForType(out.type, [&](auto number) {
      using B = decltype(block);
      using T = decltype(number);
      Require(matrix.cols % B::kValues == 0, "Dequantize: rows are whole blocks");
      Launch(DequantizeKernel<B, T>, static_cast<unsigned>((units + kThreads - 1) / kThreads),
             kThreads, 0, stream, matrix.data, units, static_cast<T*>(out.data));
    });
  });
}

}  // namespace banyan::kernels::cuda
