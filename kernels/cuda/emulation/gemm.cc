// cuBLASLt's stand-in: every sum in double, rounded once. Rows do not depend on each other, under
// either way of choosing algorithms; under kFixed, rows behind the last are overwritten with NaN,
// so that what reads them shows.
#include "kernels/cuda/gemm.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/cuda/emulation/convert.h"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

template <class T>
void Widen(const void* from, std::int64_t count, float* to) {
  const auto* numbers = static_cast<const T*>(from);
  for (std::int64_t i = 0; i < count; ++i) to[i] = ToFloat(numbers[i]);
}

void Widen(const Numbers& from, std::int64_t at, std::int64_t count, float* to) {
  if (from.type == NumberType::kF16) {
    Widen<Half>(static_cast<const Half*>(from.data) + at, count, to);
  } else {
    Widen<Bf16>(static_cast<const Bf16*>(from.data) + at, count, to);
  }
}

class HostGemm : public Gemm {
 public:
  explicit HostGemm(const Options& options) : options_(options) {}

  void Multiply(const GemmCall& call, Stream /*stream*/) override {
    Require(call.weights.type == call.x.type && call.x.type != NumberType::kF32,
            "Multiply: numbers of 16 bits, all of one type");
    x_.resize(static_cast<std::size_t>(call.rows * call.inputs));
    w_.resize(static_cast<std::size_t>(call.inputs));
    Widen(call.x, 0, call.rows * call.inputs, x_.data());
    for (std::int64_t output = 0; output < call.outputs; ++output) {
      Widen(call.weights, output * call.inputs, call.inputs, w_.data());
      for (std::int64_t row = 0; row < call.rows; ++row) {
        float& y = call.y[row * call.outputs + output];
        double sum = call.adds ? y : 0.0F;
        if (call.bias != nullptr) sum += call.bias[output];
        const float* x = x_.data() + row * call.inputs;
        for (std::int64_t i = 0; i < call.inputs; ++i) sum += static_cast<double>(x[i]) * w_[i];
        y = static_cast<float>(sum);
      }
    }
    if (options_.rows != Rows::kFixed) return;
    Require(call.rows <= call.max_rows, "Multiply: more rows than were announced");
    for (std::int64_t i = call.rows * call.outputs; i < call.max_rows * call.outputs; ++i)
      call.y[i] = std::numeric_limits<float>::quiet_NaN();
  }

 private:
  Options options_;
  std::vector<float> x_;
  std::vector<float> w_;
};

}  // namespace

std::unique_ptr<Gemm> Gemm::Create(const Options& options) {
  return std::make_unique<HostGemm>(options);
}

}  // namespace banyan::kernels::cuda
