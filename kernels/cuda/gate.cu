// The gated half of a feed-forward layer.

#include "kernels/cuda/device.h"
#include "kernels/cuda/dispatch.h"
#include "kernels/cuda/kernels.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kEach = 4;  // values of a thread

// What a gate is divided by is 1 + exp(-argument). (1 + tanh(u)) / 2 is 1 / (1 + exp(-2 u)), which
// keeps its relative accuracy where tanh is near -1.
struct Silu {
  __device__ static float Argument(float g) { return g; }
};
struct GeluTanh {
  __device__ static float Argument(float g) {
    constexpr float kTwiceRoot = 1.5957691216F;  // 2 sqrt(2 / pi)
    return g * fmaf(0.0713548163F * g, g, kTwiceRoot);
  }
};

template <class Function, class T>
__global__ void GateKernel(const float* __restrict__ gate, const float* __restrict__ up,
                           std::int64_t count, T* __restrict__ out) {
  const std::int64_t first = std::int64_t{blockIdx.x} * kThreads * kEach + threadIdx.x;
  for (int n = 0; n < kEach; ++n) {
    const std::int64_t i = first + n * kThreads;
    if (i >= count) return;
    const float g = gate[i];
    out[i] = Rounded<T>(g / (1.0F + expf(-Function::Argument(g))) * up[i]);
  }
}

template <class Function>
void LaunchGate(Stream stream, const float* gate, const float* up, std::int64_t count, Output out) {
  constexpr std::int64_t kBlock = std::int64_t{kThreads} * kEach;
  ForType(out.type, [&](auto number) {
    using T = decltype(number);
    Launch(GateKernel<Function, T>, static_cast<unsigned>((count + kBlock - 1) / kBlock), kThreads,
           0, stream, gate, up, count, static_cast<T*>(out.data));
  });
}

}  // namespace

void Gate(Stream stream, GateFunction function, const float* gate, const float* up,
          std::int64_t count, Output out) {
  if (count == 0) return;
  if (function == GateFunction::kSilu) {
    LaunchGate<Silu>(stream, gate, up, count, out);
  } else {
    LaunchGate<GeluTanh>(stream, gate, up, count, out);
  }
}

}  // namespace banyan::kernels::cuda
