// Products that are computed together: the bits of those that are computed one by one.

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

constexpr int kCols = 256;
constexpr int kMaxRows = 80;
// Around a tile of 16 outputs and a block of 32; more blocks than a thread keeps at a time.
constexpr int kOutputs[] = {1, 15, 16, 17, 32, 48, 64, 96, 200, 4128};
// Of which a matrix of floats takes over 8 MiB: threads share the reading of it.
constexpr int kManyOutputs = 8208;
constexpr DType kTypes[] = {DType::kF32, DType::kQ4_1, DType::kQ8_0, DType::kQ6_K};

CpuBackend::Input Prepare(Rig& rig, int rows) {
  rig.KeepFloats();
  CpuBackend::Input in = rig.backend->MakeInput(kMaxRows, kCols);
  rig.backend->RmsNorm(rig.Load(RandomRows(rows, kCols, 7)), rig.PackVector(Row(kCols, 1.0F)),
                       1e-5F, rows, in);
  return in;
}

CpuBackend::Matrix Pack(Rig& rig, DType type, int outputs, std::uint32_t seed) {
  return rig.backend->PackMatrix(RandomMatrix(type, outputs, kCols, seed).host());
}

Rows Product(Rig& rig, const CpuBackend::Linear& linear, const CpuBackend::Input& in, int rows) {
  const auto outputs = static_cast<std::int32_t>(linear.weights->rows());
  CpuBackend::Activations out = rig.backend->MakeActivations(rows, outputs);
  rig.backend->MatMul(linear, in, rows, out);
  return rig.Read(out, rows);
}

TEST(MatMulEach, GivesWhatEachGivesAlone) {
  for (const int threads : {1, 2, 5}) {
    for (const int rows : {1, 3, kMaxRows}) {
      Rig rig(threads);
      const CpuBackend::Input in = Prepare(rig, rows);
      const CpuBackend::Matrix a = Pack(rig, DType::kQ4_1, 200, 1);
      const CpuBackend::Matrix b = Pack(rig, DType::kQ6_K, 17, 2);
      const CpuBackend::Matrix c = Pack(rig, DType::kF32, 64, 3);
      const CpuBackend::Vector bias = rig.PackVector(RandomRows(1, 17, 4)[0]);
      CpuBackend::Activations outs[] = {rig.backend->MakeActivations(rows, 200),
                                        rig.backend->MakeActivations(rows, 17),
                                        rig.backend->MakeActivations(rows, 64)};
      const CpuBackend::Product products[] = {{a, &outs[0]}, {{b, &bias}, &outs[1]}, {c, &outs[2]}};
      rig.backend->MatMulEach(products, in, rows);
      EXPECT_EQ(rig.Read(outs[0], rows), Product(rig, a, in, rows));
      EXPECT_EQ(rig.Read(outs[1], rows), Product(rig, {b, &bias}, in, rows));
      EXPECT_EQ(rig.Read(outs[2], rows), Product(rig, c, in, rows));
    }
  }
}

TEST(MatMulEach, GivesTheBitsOfALongProductThatThreadsShare) {
  for (const int threads : {1, 2, 5}) {
    Rig rig(threads);
    const CpuBackend::Input in = Prepare(rig, 3);
    const CpuBackend::Matrix a = Pack(rig, DType::kF32, kManyOutputs, 1);
    const CpuBackend::Matrix b = Pack(rig, DType::kF32, 16, 2);
    for (const int rows : {1, 3}) {
      CpuBackend::Activations outs[] = {rig.backend->MakeActivations(rows, kManyOutputs),
                                        rig.backend->MakeActivations(rows, 16)};
      const CpuBackend::Product products[] = {{a, &outs[0]}, {b, &outs[1]}};
      rig.backend->MatMulEach(products, in, rows);
      EXPECT_EQ(rig.Read(outs[0], rows), Product(rig, a, in, rows));
    }
  }
}

TEST(MatMulBias, IsAddedToTheWholeSumOfEveryRow) {
  for (const int outputs : kOutputs) {
    Rig rig(2);
    const CpuBackend::Input in = Prepare(rig, 3);
    const CpuBackend::Matrix w = Pack(rig, DType::kQ4_1, outputs, 1);
    const Row bias = RandomRows(1, outputs, 2)[0];
    const Rows before = RandomRows(3, outputs, 3);
    const CpuBackend::Vector packed = rig.PackVector(bias);
    const Rows plain = Product(rig, w, in, 3);
    const Rows biased = Product(rig, {w, &packed}, in, 3);
    CpuBackend::Activations sums = rig.Load(before);
    rig.backend->MatMulAdd({w, &packed}, in, 2, sums);
    const Rows added = rig.Read(sums, 3);
    for (int r = 0; r < 2; ++r) {
      for (int i = 0; i < outputs; ++i) {
        ASSERT_EQ(biased[r][i], plain[r][i] + bias[i]);
        const float sum = before[r][i] + plain[r][i];
        ASSERT_EQ(added[r][i], sum + bias[i]);
      }
    }
    EXPECT_EQ(added[2], before[2]) << "rows past the count stay";
  }
}

// Those that are looked at: of many some, around the borders of what a thread keeps.
std::vector<int> Columns(int outputs) {
  std::vector<int> columns;
  for (int i = 0; i < outputs; ++i) {
    if (outputs <= 200 || i % 32 == 0 || i % 32 == 31) columns.push_back(i);
  }
  return columns;
}

CpuBackend::Matrix PackPicks(Rig& rig, int cols, const std::vector<int>& columns) {
  Rows picks(columns.size(), Row(static_cast<std::size_t>(cols)));
  for (std::size_t i = 0; i < columns.size(); ++i) picks[i][columns[i]] = 1.0F;
  return rig.PackFloats(picks);
}

Rows Picked(const Rows& rows, const std::vector<int>& columns) {
  Rows out;
  for (const Row& row : rows) {
    Row& picked = out.emplace_back();
    for (const int column : columns) picked.push_back(row[column]);
  }
  return out;
}

class MatMulGate : public ::testing::TestWithParam<DType> {};

TEST_P(MatMulGate, GivesWhatTheProductsAndTheGateGive) {
  for (const int outputs : kOutputs) {
    for (const int threads : {1, 2, 5}) {
      Rig rig(threads);
      const CpuBackend::Matrix g = Pack(rig, GetParam(), outputs, 1);
      const CpuBackend::Matrix u = Pack(rig, DType::kQ4_1, outputs, 2);
      const CpuBackend::Vector bias = rig.PackVector(RandomRows(1, outputs, 3)[0]);
      for (const int rows : {1, 2, 7, kMaxRows}) {
        if (outputs > 200 && rows > 2) continue;  // the others show it
        const CpuBackend::Input in = Prepare(rig, rows);
        CpuBackend::Input out = rig.backend->MakeInput(kMaxRows, outputs);
        for (const GateFunction function : {GateFunction::kSilu, GateFunction::kGeluTanh}) {
          rig.backend->MatMulGate(function, {g, &bias}, u, in, rows, out);
          const Rows gates = Product(rig, {g, &bias}, in, rows);
          const Rows ups = Product(rig, u, in, rows);
          Rows expected;
          for (int r = 0; r < rows; ++r) expected.push_back(rig.Gated(function, gates[r], ups[r]));
          const std::vector<int> columns = Columns(outputs);
          ASSERT_EQ(Product(rig, PackPicks(rig, outputs, columns), out, rows),
                    Picked(expected, columns))
              << outputs << " outputs, " << rows << " rows";
          if (outputs % 32 != 0 || outputs > 200) continue;
          for (Row& row : expected) row = rig.Rounded(row);
          ASSERT_EQ(rig.Quantized(out, rows), expected)
              << outputs << " outputs, " << rows << " rows";
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, MatMulGate, ::testing::ValuesIn(kTypes));

std::int32_t FirstGreatest(const Row& row) {
  for (const float x : row)
    if (!std::isfinite(x)) return -1;
  return static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

TEST(MatMulGreatest, FindsTheFirstOfTheGreatestOfEveryRow) {
  std::vector<int> sizes(std::begin(kOutputs), std::end(kOutputs));
  sizes.push_back(kManyOutputs);
  for (const int outputs : sizes) {
    for (const int threads : {1, 2, 5}) {
      Rig rig(threads);
      // Few different rows of weights, so that the greatest is there many times.
      const Rows rows_of_weights = RandomRows(7, kCols, 1);
      Rows weights;
      for (int i = 0; i < outputs; ++i) weights.push_back(rows_of_weights[i * 5 % 7]);
      const CpuBackend::Matrix floats = rig.PackFloats(weights);
      const CpuBackend::Matrix quants = Pack(rig, DType::kQ8_0, outputs, 2);
      for (const int rows : {1, 2, 64}) {
        const CpuBackend::Input in = Prepare(rig, rows);
        for (const CpuBackend::Matrix* w : {&floats, &quants}) {
          std::vector<std::int32_t> greatest(rows);
          rig.backend->MatMulGreatest(*w, in, greatest);
          const Rows all = Product(rig, *w, in, rows);
          for (int r = 0; r < rows; ++r) ASSERT_EQ(greatest[r], FirstGreatest(all[r]));
        }
      }
    }
  }
}

TEST(MatMulGreatest, SaysWhereAValueIsNotFinite) {
  constexpr int kMany = 200;
  for (const int threads : {1, 2}) {
    for (const float bad :
         {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
          std::numeric_limits<float>::quiet_NaN()}) {
      for (const int at : {0, 15, 16, 100, kMany - 1}) {
        Rig rig(threads);
        const CpuBackend::Input in = Prepare(rig, 2);
        Row bias(kMany, 0.0F);
        bias[at] = bad;
        const CpuBackend::Vector packed = rig.PackVector(bias);
        const CpuBackend::Matrix w = Pack(rig, DType::kQ4_1, kMany, 1);
        std::vector<std::int32_t> greatest(2);
        rig.backend->MatMulGreatest({w, &packed}, in, greatest);
        EXPECT_EQ(greatest, (std::vector<std::int32_t>{-1, -1})) << bad << " at " << at;
      }
    }
  }
}

}  // namespace
}  // namespace banyan::kernels::testing
