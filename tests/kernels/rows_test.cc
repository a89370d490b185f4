// Operations on single rows: normalization, gating, and what quantization keeps.

#include <cmath>
#include <limits>
#include <numbers>
#include <span>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

constexpr float kEps = 1e-5F;

class RowOps : public ::testing::TestWithParam<int> {};  // columns
INSTANTIATE_TEST_SUITE_P(Columns, RowOps, ::testing::Values(1, 7, 8, 9, 31, 32, 33, 64, 100, 576));

TEST_P(RowOps, RmsNormAgreesWithDoublePrecision) {
  const int cols = GetParam();
  Rig rig;
  rig.KeepFloats();
  const Rows x = RandomRows(3, cols, 1, 3.0F);
  const Row weight = RandomRows(1, cols, 2)[0];
  CpuBackend::Input out = rig.backend->MakeInput(3, cols);
  rig.backend->RmsNorm(rig.Load(x), rig.PackVector(weight), kEps, 3, out);
  const Rows results = rig.Floats(out, 3);
  for (int r = 0; r < 3; ++r) {
    double squares = 0;
    for (const float v : x[r]) squares += static_cast<double>(v) * v;
    const double factor = 1 / std::sqrt(squares / cols + kEps);
    for (int i = 0; i < cols; ++i)
      ASSERT_NEAR(results[r][i], x[r][i] * factor * weight[i], 1e-6 * std::fabs(results[r][i]));
  }
}

double GateReference(GateFunction function, double x) {
  if (function == GateFunction::kSilu) return x / (1 + std::exp(-x));
  // The definition, and for u <= 0 the same without the cancellation in 1 + tanh(u).
  const double u = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
  return u > 0 ? 0.5 * x * (1 + std::tanh(u)) : x * std::exp(2 * u) / (1 + std::exp(2 * u));
}

constexpr GateFunction kGates[] = {GateFunction::kSilu, GateFunction::kGeluTanh};

TEST_P(RowOps, GatesAgreeWithDoublePrecision) {
  const int cols = GetParam();
  const Rig rig;
  const Row gate = RandomRows(1, cols, 3, 4.0F)[0];
  const Row up = RandomRows(1, cols, 4)[0];
  for (const GateFunction function : kGates) {
    const Row result = rig.Gated(function, gate, up);
    for (int i = 0; i < cols; ++i) {
      const double expected = GateReference(function, gate[i]) * up[i];
      // An exponent of up to 80 carries 80 times the rounding of its argument.
      ASSERT_NEAR(result[i], expected, 2e-5 * std::fabs(expected) + 1e-30)
          << gate[i] << " of function " << static_cast<int>(function);
      if (std::fabs(gate[i]) < 2) {
        ASSERT_NEAR(result[i], expected, 1e-6 * std::fabs(expected));
      }
    }
  }
}

TEST(Gates, KeepTheirLimitsFarFromZero) {
  const Rig rig;
  const Row gate = {0.0F, 100.0F, -100.0F, 1e30F, -1e30F};
  for (const GateFunction function : kGates) {
    EXPECT_THAT(rig.Gated(function, gate, Row(5, 1.0F)),
                ::testing::ElementsAre(0.0F, 100.0F, 0.0F, 1e30F, 0.0F));
  }
}

TEST_P(RowOps, NormsOfHeadsAndAddedNormsAgreeWithDoublePrecision) {
  const int cols = GetParam();
  constexpr int kHeads = 3;
  Rig rig;
  const Rows x = RandomRows(3, kHeads * cols, 10, 2.0F);
  const Rows before = RandomRows(3, kHeads * cols, 11);
  const auto norm = [](std::span<const float> run) {
    double squares = 0;
    for (const float v : run) squares += static_cast<double>(v) * v;
    return 1 / std::sqrt(squares / static_cast<double>(run.size()) + kEps);
  };

  const Row weight = RandomRows(1, cols, 12)[0];
  CpuBackend::Activations heads = rig.Load(x);
  rig.backend->RmsNormHeads(rig.PackVector(weight), kEps, 2, heads);
  const Rows normed = rig.Read(heads, 3);
  const Row wide = RandomRows(1, kHeads * cols, 13)[0];
  CpuBackend::Activations sum = rig.Load(before);
  rig.backend->RmsNormAdd(rig.Load(x), rig.PackVector(wide), kEps, 2, sum);
  const Rows sums = rig.Read(sum, 3);
  for (int r = 0; r < 2; ++r) {
    for (int i = 0; i < kHeads * cols; ++i) {
      const double of_head = norm(std::span(x[r]).subspan(i / cols * cols, cols));
      ASSERT_NEAR(normed[r][i], x[r][i] * of_head * weight[i % cols],
                  1e-6 * std::fabs(normed[r][i]));
      const double added = x[r][i] * norm(x[r]) * wide[i];
      ASSERT_NEAR(sums[r][i], before[r][i] + added,
                  1e-6 * (std::fabs(added) + std::fabs(before[r][i])));
    }
  }
  EXPECT_EQ(normed[2], x[2]) << "rows past the count stay";
  EXPECT_EQ(sums[2], before[2]);
}

// Every operation that gives rows, on the given rows of the same activations.
Rows AllOps(Rig& rig, const Rows& x, const Rows& up) {
  const int rows = static_cast<int>(x.size());
  const int cols = static_cast<int>(x[0].size());
  const CpuBackend::Vector weight = rig.PackVector(RandomRows(1, cols, 7)[0]);
  const CpuBackend::Activations x_rows = rig.Load(x);
  CpuBackend::Input out = rig.backend->MakeInput(rows, cols);
  Rows results(rows);
  const auto take = [&](const Rows& part) {
    for (int r = 0; r < rows; ++r)
      results[r].insert(results[r].end(), part[r].begin(), part[r].end());
  };
  rig.backend->RmsNorm(x_rows, weight, kEps, rows, out);
  take(rig.Floats(out, rows));
  CpuBackend::Activations changed = rig.Load(up);
  rig.backend->RmsNormAdd(x_rows, weight, kEps, rows, changed);
  take(rig.Read(changed, rows));
  rig.backend->RmsNormHeads(weight, kEps, rows, changed);
  take(rig.Read(changed, rows));
  return results;
}

TEST_P(RowOps, ARowHasTheSameBitsAloneInABatchAndOnAnyThreads) {
  const int cols = GetParam();
  constexpr int kRows = 40;  // above and below what is shared between threads
  const Rows x = RandomRows(kRows, cols, 5);
  const Rows up = RandomRows(kRows, cols, 6);
  Rig one;
  one.KeepFloats();
  Rows alone;
  for (int r = 0; r < kRows; ++r) alone.push_back(AllOps(one, {x[r]}, {up[r]})[0]);
  for (const int threads : {1, 2, 3}) {
    Rig rig(threads);
    rig.KeepFloats();
    EXPECT_EQ(AllOps(rig, x, up), alone) << threads << " threads";
  }
}

TEST_P(RowOps, SelectedRowsAreNormalizedAsTheyStand) {
  const int cols = GetParam();
  Rig rig;
  rig.KeepFloats();
  const CpuBackend::Activations x = rig.Load(RandomRows(4, cols, 5));
  const CpuBackend::Vector weight = rig.PackVector(RandomRows(1, cols, 7)[0]);
  CpuBackend::Input out = rig.backend->MakeInput(4, cols);
  rig.backend->RmsNorm(x, weight, kEps, 4, out);
  const Rows all = rig.Floats(out, 4);
  const std::int32_t picked[] = {3, 1, 3};
  rig.backend->RmsNormRows(x, weight, kEps, picked, out);
  EXPECT_EQ(rig.Floats(out, 3), (Rows{all[3], all[1], all[3]}));
}

TEST_P(RowOps, AnElementsBitsDoNotDependOnWhereItStands) {
  const int cols = GetParam();
  const Rig rig;
  for (const float gate : {-90.0F, -3.3F, -0.001F, 0.0F, 0.7F, 5.5F, 88.0F}) {
    for (const GateFunction function : kGates) {
      const Row row = rig.Gated(function, Row(cols, gate), Row(cols, 1.1F));
      EXPECT_THAT(row, ::testing::Each(row[0]));
    }
  }
}

TEST(Quantization, IsWithinHalfAStepOfEachValue) {
  Rig rig;
  rig.KeepFloats();
  CpuBackend::Input in = rig.backend->MakeInput(4, 96);
  rig.backend->RmsNorm(rig.Load(RandomRows(4, 96, 8)), rig.PackVector(RandomRows(1, 96, 9)[0]),
                       kEps, 4, in);
  const Rows exact = rig.Floats(in, 4);
  const Rows kept = rig.Quantized(in, 4);
  for (int r = 0; r < 4; ++r) {
    for (int block = 0; block < 96; block += 32) {
      float greatest = 0;
      for (int i = block; i < block + 32; ++i)
        greatest = std::max(greatest, std::fabs(exact[r][i]));
      const float step = greatest / 127;
      for (int i = block; i < block + 32; ++i)
        ASSERT_LE(std::fabs(kept[r][i] - exact[r][i]), step * 0.5001F);
    }
  }
}

// A row of one block whose normalized values are `values`.
Row QuantizedBlock(const Row& values) {
  Rig rig;
  CpuBackend::Input in = rig.backend->MakeInput(1, 32);
  rig.backend->RmsNorm(rig.Load({Row(32, 1.0F)}), rig.PackVector(values), 0.0F, 1, in);
  return rig.Quantized(in, 1)[0];
}

TEST(Quantization, RoundsHalvesToEven) {
  Row values(32, 0.0F);
  values[0] = 127.0F;  // the step is 1
  values[1] = 0.5F;
  values[2] = 1.5F;
  values[3] = -2.5F;
  values[4] = -127.0F;
  const Row kept = QuantizedBlock(values);
  EXPECT_THAT(std::vector(kept.begin(), kept.begin() + 5),
              ::testing::ElementsAre(127, 0, 2, -2, -127));
}

TEST(Quantization, TinyAndZeroBlocksAreZero) {
  EXPECT_THAT(QuantizedBlock(Row(32, 0.0F)), ::testing::Each(0.0F));
  EXPECT_THAT(QuantizedBlock(Row(32, 1e-38F)), ::testing::Each(0.0F));
}

TEST(Quantization, InfinityAndNanDoNotHide) {
  for (const float bad :
       {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    Row values(32, 1.0F);
    values[17] = bad;
    EXPECT_FALSE(std::isfinite(QuantizedBlock(values)[17]));
  }
}

TEST(Exp, IsAccurateOverItsRange) {
  // Seen through silu, far below zero: there the relative error of 1 / (1 + exp(-g)) is exp's.
  Row gate;
  for (float g = -85.0F; g < -20.0F; g += 0.0137F) gate.push_back(g);
  const Row result = Rig().Gated(GateFunction::kSilu, gate, Row(gate.size(), 1.0F));
  double worst = 0;
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const double g = gate[i];
    const double expected = g / (1 + std::exp(-g));
    worst = std::max(worst, std::fabs(result[i] / expected - 1));
  }
  EXPECT_LT(worst, 4 * 0x1p-24);  // exp, the division and the rest: half a unit each, and a bit
}

}  // namespace
}  // namespace banyan::kernels::testing
