// Operations on single rows: normalization, gating, rotation, and what quantization keeps.

#include <cmath>
#include <limits>
#include <numeric>

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

TEST_P(RowOps, SwiGluAgreesWithDoublePrecision) {
  const int cols = GetParam();
  Rig rig;
  rig.KeepFloats();
  const Rows gate = RandomRows(3, cols, 3, 20.0F);
  const Rows up = RandomRows(3, cols, 4);
  CpuBackend::Input out = rig.backend->MakeInput(3, cols);
  rig.backend->SwiGlu(rig.Load(gate), rig.Load(up), 3, out);
  const Rows results = rig.Floats(out, 3);
  for (int r = 0; r < 3; ++r) {
    for (int i = 0; i < cols; ++i) {
      const double silu = gate[r][i] / (1 + std::exp(-static_cast<double>(gate[r][i])));
      ASSERT_NEAR(results[r][i], silu * up[r][i], 1e-6 * std::fabs(silu * up[r][i]) + 1e-30);
    }
  }
}

TEST_P(RowOps, ARowHasTheSameBitsAloneInABatchAndOnAnyThreads) {
  const int cols = GetParam();
  constexpr int kRows = 40;  // above and below what is shared between threads
  Rows norms;
  Rows gates;
  for (const int threads : {1, 2, 3}) {
    Rig rig(threads);
    rig.KeepFloats();
    const Rows values = RandomRows(kRows, cols, 5);
    const CpuBackend::Activations x = rig.Load(values);
    const CpuBackend::Activations up = rig.Load(RandomRows(kRows, cols, 6));
    const CpuBackend::Vector weight = rig.PackVector(RandomRows(1, cols, 7)[0]);
    CpuBackend::Input out = rig.backend->MakeInput(kRows, cols);
    for (std::int32_t r = 0; threads == 1 && r < kRows; ++r) {
      rig.backend->RmsNormRows(x, weight, kEps, std::span(&r, 1), out);
      norms.push_back(rig.Floats(out, 1)[0]);
    }
    rig.backend->RmsNorm(x, weight, kEps, kRows, out);
    EXPECT_EQ(rig.Floats(out, kRows), norms);
    rig.backend->SwiGlu(x, up, kRows, out);
    if (threads == 1) gates = rig.Floats(out, kRows);
    EXPECT_EQ(rig.Floats(out, kRows), gates);
  }
}

TEST_P(RowOps, AnElementsBitsDoNotDependOnWhereItStands) {
  const int cols = GetParam();
  Rig rig;
  rig.KeepFloats();
  const float gates[] = {-90.0F, -3.3F, -0.001F, 0.0F, 0.7F, 5.5F, 88.0F};
  for (const float gate : gates) {
    CpuBackend::Input out = rig.backend->MakeInput(1, cols);
    rig.backend->SwiGlu(rig.Load({Row(cols, gate)}), rig.Load({Row(cols, 1.1F)}), 1, out);
    const Row row = rig.Floats(out, 1)[0];
    EXPECT_THAT(row, ::testing::Each(row[0]));
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
  Rig rig;
  rig.KeepFloats();
  Row gate;
  for (float g = -85.0F; g < -20.0F; g += 0.0137F) gate.push_back(g);
  const int cols = static_cast<int>(gate.size());
  CpuBackend::Input out = rig.backend->MakeInput(1, cols);
  rig.backend->SwiGlu(rig.Load({gate}), rig.Load({Row(cols, 1.0F)}), 1, out);
  double worst = 0;
  // One value at a time: the row is too wide for a whole identity.
  for (int i = 0; i < cols; i += 61) {
    Row pick(cols, 0.0F);
    pick[i] = 1.0F;
    CpuBackend::Activations one = rig.backend->MakeActivations(1, 1);
    rig.backend->MatMul(rig.PackFloats({pick}), out, 1, one);
    const double g = gate[i];
    const double expected = g / (1 + std::exp(-g));
    worst = std::max(worst, std::fabs(rig.Read(one, 1)[0][0] / expected - 1));
  }
  EXPECT_LT(worst, 4 * 0x1p-24);  // exp, the division and the rest: half a unit each, and a bit
}

class RopeTest : public ::testing::TestWithParam<int> {};  // rotated dimensions of 24
INSTANTIATE_TEST_SUITE_P(Dims, RopeTest, ::testing::Values(0, 2, 8, 10, 24));

TEST_P(RopeTest, RotatesAdjacentPairsByThePosition) {
  constexpr int kHeadDim = 24;
  const Rope rope{GetParam(), 10000.0F};
  Rig rig(2);
  ASSERT_TRUE(rig.backend->AllocatePages({1, 2, kHeadDim, 4, 16}));
  const Rows q = RandomRows(3, 4 * kHeadDim, 1);
  const Rows k = RandomRows(3, 2 * kHeadDim, 2);
  CpuBackend::Activations q_rows = rig.Load(q);
  CpuBackend::Activations k_rows = rig.Load(k);
  const CpuBackend::Activations v_rows = rig.Load(RandomRows(3, 2 * kHeadDim, 3));
  std::vector<std::int32_t> pages(16);
  std::iota(pages.begin(), pages.end(), 0);
  const RowRun runs[] = {{0, 2, 41, pages}, {2, 1, 0, pages}};
  rig.backend->RopeAndStore(q_rows, k_rows, v_rows, rope, runs, 0);
  const double positions[] = {41, 42, 0};
  const auto check = [&](const Rows& before, const Rows& after) {
    for (int r = 0; r < 3; ++r) {
      for (std::size_t i = 0; i < before[r].size(); i += 2) {
        const int d = static_cast<int>(i % kHeadDim);
        const double angle =
            d < rope.dims ? positions[r] * std::pow(10000.0, -static_cast<double>(d) / rope.dims)
                          : 0;
        const double x = before[r][i];
        const double y = before[r][i + 1];
        ASSERT_NEAR(after[r][i], x * std::cos(angle) - y * std::sin(angle), 1e-6);
        ASSERT_NEAR(after[r][i + 1], x * std::sin(angle) + y * std::cos(angle), 1e-6);
      }
    }
  };
  check(q, rig.Read(q_rows, 3));
  check(k, rig.Read(k_rows, 3));
}

TEST(RopeBits, DependOnThePositionAlone) {
  Rig rig;
  ASSERT_TRUE(rig.backend->AllocatePages({1, 1, 16, 16, 64}));
  std::vector<std::int32_t> pages(64);
  std::iota(pages.begin(), pages.end(), 0);
  const Rope rope{16, 10000.0F};
  const auto rotate = [&](std::span<const RowRun> runs, int rows) {
    CpuBackend::Activations q = rig.Load(Rows(rows, Row(16, 0.7F)));
    CpuBackend::Activations k = rig.Load(Rows(rows, Row(16, 0.3F)));
    const CpuBackend::Activations v = rig.Load(Rows(rows, Row(16, 0.1F)));
    rig.backend->RopeAndStore(q, k, v, rope, runs, 0);
    return rig.Read(q, rows);
  };
  const RowRun together[] = {{0, 500, 17, pages}};
  const Rows all = rotate(together, 500);
  for (const int position : {17, 18, 99, 516}) {
    const RowRun alone[] = {{0, 1, position, pages}};
    EXPECT_EQ(rotate(alone, 1)[0], all[position - 17]);
  }
}

}  // namespace
}  // namespace banyan::kernels::testing
