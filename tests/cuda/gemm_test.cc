// Products of numbers of 16 bits against double precision.

#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/gemm.h"
#include "kernels/small_floats.h"
#include "tests/cuda/rig.h"

namespace banyan::kernels::cuda::testing {
namespace {

constexpr std::int64_t kInputs = 64;
constexpr std::int64_t kOutputs = 24;

std::vector<Bf16> Rounded(const Row& values) {
  std::vector<Bf16> out;
  for (const float v : values) out.push_back({FloatToBf16(v)});
  return out;
}

struct Case {
  explicit Case(std::int32_t count)
      : rows(count),
        max_rows(count),
        weights(Rounded(RandomRows(1, kOutputs * kInputs, 1)[0])),
        x(Rounded(RandomRows(1, static_cast<int>(count * kInputs), 2)[0])),
        bias(RandomRows(1, kOutputs, 3)[0]),
        before(RandomRows(1, static_cast<int>(count * kOutputs), 4)[0]) {}

  // Without what it is added to.
  double Product(std::int64_t row, std::int64_t output) const {
    double sum = 0;
    for (std::int64_t i = 0; i < kInputs; ++i)
      sum += static_cast<double>(Bf16ToFloat(x[row * kInputs + i].bits)) *
             Bf16ToFloat(weights[output * kInputs + i].bits);
    return sum;
  }

  std::int32_t rows;
  std::int32_t max_rows;  // that there is memory for
  std::vector<Bf16> weights;
  std::vector<Bf16> x;
  Row bias;
  Row before;
};

enum class Onto { kNothing, kBias, kResidual };

Row Multiplied(Gemm& gemm, const Case& c, Onto onto) {
  const DeviceArray<Bf16> weights(c.weights);
  const DeviceArray<Bf16> x(c.x);
  const DeviceArray<float> bias(c.bias);
  DeviceArray<float> y(c.before);
  gemm.Multiply({.weights = {weights.data(), NumberType::kBf16},
                 .x = {x.data(), NumberType::kBf16},
                 .y = y.data(),
                 .bias = onto == Onto::kBias ? bias.data() : nullptr,
                 .outputs = kOutputs,
                 .inputs = kInputs,
                 .rows = c.rows,
                 .max_rows = c.max_rows,
                 .adds = onto == Onto::kResidual},
                nullptr);
  return y.Read();
}

TEST(Gemm, MultipliesAndAddsToABiasOrToWhatIsThere) {
  const std::unique_ptr<Gemm> gemm = Gemm::Create({});
  ASSERT_NE(gemm, nullptr);
  for (const std::int32_t rows : {1, 7, 33}) {
    const Case c(rows);
    const Row plain = Multiplied(*gemm, c, Onto::kNothing);
    const Row biased = Multiplied(*gemm, c, Onto::kBias);
    const Row added = Multiplied(*gemm, c, Onto::kResidual);
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t output = 0; output < kOutputs; ++output) {
        const std::size_t at = row * kOutputs + output;
        const double product = c.Product(row, output);
        EXPECT_NEAR(plain[at], product, 1e-4);
        EXPECT_NEAR(biased[at], product + c.bias[output], 1e-4);
        EXPECT_NEAR(added[at], product + c.before[at], 1e-4);
      }
    }
  }
}

TEST(Gemm, OfARowIsTheSameBitsInAnyBatchWhereThatIsAskedFor) {
  constexpr std::int32_t kMaxRows = 8;
  const std::unique_ptr<Gemm> gemm = Gemm::Create({.rows = Gemm::Rows::kFixed});
  ASSERT_NE(gemm, nullptr);
  Case all(kMaxRows);
  const Row together = Multiplied(*gemm, all, Onto::kNothing);
  all.rows = 1;
  const Row alone = Multiplied(*gemm, all, Onto::kNothing);
  for (std::int64_t output = 0; output < kOutputs; ++output)
    EXPECT_EQ(alone[output], together[output]);
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
