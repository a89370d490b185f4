// Operations on single rows of activations, and their quantization.

#include <bit>
#include <cmath>

#include "kernels/cpu/math_portable.h"
#include "kernels/cpu/portable.h"

namespace banyan::kernels::portable {
namespace {

// The greatest magnitude as the integer that represents it: infinity is above all numbers and NaN
// above infinity, so neither can hide.
float GreatestMagnitude(const float (&x)[kQuantBlock]) {
  std::int32_t most = 0;
  for (const float v : x) {
    const std::int32_t magnitude = std::bit_cast<std::int32_t>(v) & 0x7fffffff;
    most = magnitude > most ? magnitude : most;
  }
  return std::bit_cast<float>(most);
}

// What is known of the sums of a block's q before any weight is seen.
void Sum(QuantBlock* out) {
  std::int32_t total = 0;
  for (int g = 0; g < 2; ++g) {
    for (int p = 0; p < 2; ++p) {
      std::int32_t sum = 0;
      for (int k = 0; k < 4; ++k) {
        const std::int8_t* q = out->q + 16 * g + 4 * k + 2 * p;
        sum += q[0] + q[1];
      }
      out->centring[g][p] = static_cast<std::int16_t>(-16 * sum);
      total += sum;
    }
  }
  out->sum = out->scale * static_cast<float>(total);
}

// Symmetric, to nearest even. A block with an infinity or a NaN gets that as its scale, and -127
// for every value whose product with the inverse is NaN; one whose magnitudes are all below 1e-30
// is zero.
void QuantizeBlock(const float (&x)[kQuantBlock], QuantBlock* out) {
  const float greatest = GreatestMagnitude(x);
  const bool tiny = greatest < 1e-30F;
  out->scale = tiny ? 0.0F : greatest / 127.0F;
  const float inverse = tiny ? 0.0F : 127.0F / greatest;
  for (int i = 0; i < kQuantBlock; ++i) {
    const float steps = std::nearbyint(x[i] * inverse);
    out->q[i] = static_cast<std::int8_t>(steps == steps ? steps : -127.0F);
  }
  Sum(out);
}

// Writes value(i) for every i to both forms of a row.
template <class F>
void Emit(std::int64_t cols, const RowOut& out, const F& value) {
  if (out.blocks == nullptr) {
    for (std::int64_t i = 0; i < cols; ++i) out.floats[i] = value(i);
    return;
  }
  for (std::int64_t i = 0; i < cols; i += kQuantBlock) {
    float x[kQuantBlock];
    for (int j = 0; j < kQuantBlock; ++j) x[j] = value(i + j);
    if (out.floats != nullptr)
      for (int j = 0; j < kQuantBlock; ++j) out.floats[i + j] = x[j];
    QuantizeBlock(x, out.blocks + i / kQuantBlock);
  }
}

// 1 / sqrt(mean(x^2) + eps).
float InverseRoot(const float* x, float eps, std::int64_t cols) {
  float squares[kLanes] = {};
  for (std::int64_t i = 0; i < cols; ++i)
    squares[i % kLanes] = Fma(x[i], x[i], squares[i % kLanes]);
  return 1.0F / std::sqrt(HorizontalSum(squares) / static_cast<float>(cols) + eps);
}

// gate / (1 + exp(-argument(gate))) * up.
template <class F>
void Gate(const float* gate, const float* up, std::int64_t cols, const RowOut& out,
          const F& argument) {
  Emit(cols, out,
       [&](std::int64_t i) { return gate[i] / (1.0F + Exp(0.0F - argument(gate[i]))) * up[i]; });
}

}  // namespace

void Quantize(const float* x, std::int64_t cols, const RowOut& out) {
  Emit(cols, out, [&](std::int64_t i) { return x[i]; });
}

// `out.floats` may be x: every value is read before it is written.
void RmsNorm(const float* x, const float* weight, float eps, std::int64_t cols, const RowOut& out) {
  const float inverse = InverseRoot(x, eps, cols);
  Emit(cols, out, [&](std::int64_t i) { return x[i] * inverse * weight[i]; });
}

void RmsNormAdd(const float* in, const float* weight, float eps, std::int64_t cols, float* x) {
  const float inverse = InverseRoot(in, eps, cols);
  for (std::int64_t i = 0; i < cols; ++i) x[i] = Fma(in[i] * inverse, weight[i], x[i]);
}

void Add(const float* v, std::int64_t cols, float* x) {
  for (std::int64_t i = 0; i < cols; ++i) x[i] += v[i];
}

void GateSilu(const float* gate, const float* up, std::int64_t cols, const RowOut& out) {
  Gate(gate, up, cols, out, [](float g) { return g; });
}

// (1 + tanh(u)) / 2 is 1 / (1 + exp(-2 u)), which keeps its relative accuracy where tanh is near
// -1.
void GateGeluTanh(const float* gate, const float* up, std::int64_t cols, const RowOut& out) {
  Gate(gate, up, cols, out, [](float g) {
    constexpr float kTwiceRoot = 1.5957691216F;  // 2 sqrt(2 / pi)
    return g * (kTwiceRoot + 0.0713548163F * (g * g));
  });
}

void RotateNeighbours(float* x, const float* cos, const float* sin, std::int64_t dims) {
  for (std::int64_t i = 0; i < dims; i += 2) {
    const float a = x[i];
    const float b = x[i + 1];
    x[i] = Fma(a, cos[i], b * sin[i]);
    x[i + 1] = Fma(b, cos[i + 1], a * sin[i + 1]);
  }
}

void RotateHalves(float* x, const float* cos, const float* sin, std::int64_t dims) {
  const std::int64_t pairs = dims / 2;
  for (std::int64_t i = 0; i < pairs; ++i) {
    const float a = x[i];
    const float b = x[pairs + i];
    x[i] = Fma(a, cos[i], -(b * sin[i]));
    x[pairs + i] = Fma(b, cos[i], a * sin[i]);
  }
}

}  // namespace banyan::kernels::portable
