// Matrix products against double precision, and the bits of a row alone and in company.

#include <cmath>
#include <cstring>
#include <numeric>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

using ::testing::Combine;
using ::testing::Values;

constexpr int kMaxRows = 64;
constexpr DType kTypes[] = {DType::kF32, DType::kF16, DType::kQ4_1, DType::kQ8_0};

bool IsQuantized(DType type) { return ShapeOf(type).block > 1; }

// Inputs of random rows, and what a matrix of `type` reads of them.
struct Prepared {
  Prepared(Rig& rig, DType type, int cols, int rows) : in(rig.backend->MakeInput(kMaxRows, cols)) {
    rig.KeepFloats();
    const CpuBackend::Activations x = rig.Load(RandomRows(rows, cols, 7));
    rig.backend->RmsNorm(x, rig.PackVector(Row(cols, 1.0F)), 1e-5F, rows, in);
    seen = IsQuantized(type) ? rig.Quantized(in, rows) : rig.Floats(in, rows);
  }
  CpuBackend::Input in;
  Rows seen;
};

class MatMul : public ::testing::TestWithParam<std::tuple<DType, int, int>> {
 protected:
  DType type() const { return std::get<0>(GetParam()); }
  int outputs() const { return std::get<1>(GetParam()); }
  int cols() const { return std::get<2>(GetParam()); }
};

TEST_P(MatMul, AgreesWithDoublePrecision) {
  Rig rig(2);
  const RandomMatrix weights(type(), outputs(), cols(), 1);
  const CpuBackend::Matrix packed = rig.backend->PackMatrix(weights.host());
  const Prepared input(rig, type(), cols(), 9);
  CpuBackend::Activations out = rig.backend->MakeActivations(kMaxRows, outputs());
  rig.backend->MatMul(packed, input.in, 9, out);
  const Rows results = rig.Read(out, 9);
  for (int o = 0; o < outputs(); ++o) {
    const Row w = weights.Dequantized(o);
    for (int r = 0; r < 9; ++r) {
      double sum = 0;
      double magnitude = 0;
      for (int k = 0; k < cols(); ++k) {
        sum += static_cast<double>(w[k]) * input.seen[r][k];
        magnitude += std::fabs(static_cast<double>(w[k]) * input.seen[r][k]);
      }
      // The weights of a block share d and m, whose parts of the sum may cancel.
      ASSERT_NEAR(results[r][o], sum, 1e-5 * magnitude + 1e-4) << "row " << r << " output " << o;
    }
  }
}

TEST_P(MatMul, ARowHasTheSameBitsAloneInABatchAndOnAnyThreads) {
  const RandomMatrix weights(type(), outputs(), cols(), 2);
  Rows alone;
  for (const int threads : {1, 2, 3}) {
    Rig rig(threads);
    const CpuBackend::Matrix packed = rig.backend->PackMatrix(weights.host());
    rig.KeepFloats();
    const CpuBackend::Activations x = rig.Load(RandomRows(kMaxRows, cols(), 8));
    const CpuBackend::Vector norm = rig.PackVector(Row(cols(), 1.0F));
    CpuBackend::Input in = rig.backend->MakeInput(kMaxRows, cols());
    CpuBackend::Activations out = rig.backend->MakeActivations(kMaxRows, outputs());
    for (std::int32_t r = 0; threads == 1 && r < kMaxRows; ++r) {
      rig.backend->RmsNormRows(x, norm, 1e-5F, std::span(&r, 1), in);
      rig.backend->MatMul(packed, in, 1, out);
      alone.push_back(rig.Read(out, 1)[0]);
    }
    for (const int batch : {1, 2, 3, 4, 5, 6, 7, 8, 9, 64}) {
      std::vector<std::int32_t> rows(batch);
      std::iota(rows.begin(), rows.end(), kMaxRows - batch);
      rig.backend->RmsNormRows(x, norm, 1e-5F, rows, in);
      rig.backend->MatMul(packed, in, batch, out);
      const Rows together = rig.Read(out, batch);
      for (int r = 0; r < batch; ++r)
        ASSERT_EQ(together[r], alone[rows[r]]) << "row " << r << " of " << batch;
    }
  }
}

TEST_P(MatMul, AddingAddsTheWholeSumOnce) {
  Rig rig(2);
  const RandomMatrix weights(type(), outputs(), cols(), 3);
  const CpuBackend::Matrix packed = rig.backend->PackMatrix(weights.host());
  const Prepared input(rig, type(), cols(), 6);
  const Rows before = RandomRows(6, outputs(), 4, 100.0F);
  CpuBackend::Activations sum = rig.Load(before);
  CpuBackend::Activations product = rig.backend->MakeActivations(6, outputs());
  rig.backend->MatMul(packed, input.in, 6, product);
  rig.backend->MatMulAdd(packed, input.in, 6, sum);
  const Rows products = rig.Read(product, 6);
  const Rows sums = rig.Read(sum, 6);
  for (int r = 0; r < 6; ++r)
    for (int o = 0; o < outputs(); ++o) ASSERT_EQ(sums[r][o], before[r][o] + products[r][o]);
}

TEST_P(MatMul, PackedRowsAreEmbeddedExactly) {
  Rig rig(2);
  const RandomMatrix weights(type(), outputs(), cols(), 5);
  const CpuBackend::Matrix packed = rig.backend->PackMatrix(weights.host());
  std::vector<std::int32_t> ids(outputs());
  std::iota(ids.rbegin(), ids.rend(), 0);
  CpuBackend::Activations x = rig.backend->MakeActivations(outputs(), cols());
  for (const float factor : {1.0F, 25.3F}) {
    rig.backend->Embed(packed, ids, factor, x);
    const Rows rows = rig.Read(x, outputs());
    for (int i = 0; i < outputs(); ++i) {
      Row expected = weights.Dequantized(ids[i]);
      for (float& value : expected) value *= factor;
      ASSERT_EQ(rows[i], expected) << ids[i];
    }
  }
}

std::string Name(const ::testing::TestParamInfo<std::tuple<DType, int, int>>& info) {
  return std::string(ShapeOf(std::get<0>(info.param)).name) + "_" +
         std::to_string(std::get<1>(info.param)) + "x" + std::to_string(std::get<2>(info.param));
}

INSTANTIATE_TEST_SUITE_P(Shapes, MatMul,
                         Combine(::testing::ValuesIn(kTypes), Values(1, 15, 16, 33),
                                 Values(32, 160)),
                         Name);
INSTANTIATE_TEST_SUITE_P(OddColumns, MatMul,
                         Combine(Values(DType::kF32, DType::kF16), Values(9), Values(1, 5, 37)),
                         Name);

// One weight matrix of a block whose every product is as large as the format allows: sums of 16
// bits must hold them.
class ExtremeSums : public ::testing::TestWithParam<std::tuple<DType, int, float>> {};

TEST_P(ExtremeSums, DoNotOverflow) {
  const auto [type, fill, value] = GetParam();
  Rig rig;
  const BlockShape shape = ShapeOf(type);
  std::vector<std::byte> bytes(8 * shape.bytes, static_cast<std::byte>(fill));
  for (int r = 0; r < 8; ++r) {
    const std::uint16_t one = FloatToHalf(1.0F);
    std::memset(bytes.data() + r * shape.bytes, 0, shape.bytes - (type == DType::kQ4_1 ? 16 : 32));
    std::memcpy(bytes.data() + r * shape.bytes, &one, sizeof one);
  }
  const HostTensor host{type, 8, 32, bytes.data()};
  const CpuBackend::Matrix packed = rig.backend->PackMatrix(host);
  // A norm of equal values is 1, so that the weight of the norm is the input.
  CpuBackend::Input in = rig.backend->MakeInput(1, 32);
  rig.backend->RmsNorm(rig.Load({Row(32, 1.0F)}), rig.PackVector(Row(32, value)), 0.0F, 1, in);
  CpuBackend::Activations out = rig.backend->MakeActivations(1, 8);
  rig.backend->MatMul(packed, in, 1, out);
  Row weights(32);
  DequantizeRow(host, 0, weights);
  const Rows results = rig.Read(out, 1);
  for (const float result : results[0]) EXPECT_FLOAT_EQ(result, 32 * weights[0] * value);
}

INSTANTIATE_TEST_SUITE_P(
    Signs, ExtremeSums,
    Values(std::tuple(DType::kQ4_1, 0xff, 127.0F), std::tuple(DType::kQ4_1, 0xff, -127.0F),
           std::tuple(DType::kQ8_0, 0x80, 127.0F), std::tuple(DType::kQ8_0, 0x80, -127.0F),
           std::tuple(DType::kQ8_0, 0x7f, 127.0F), std::tuple(DType::kQ8_0, 0x7f, -127.0F)));

TEST(MatMulBlocking, ManyWideRowsHaveTheBitsOfOne) {
  // More bytes of input than stay in the second-level cache, so that rows go in several groups.
  constexpr int kCols = 8192;
  constexpr int kRows = 83;
  Rig rig(2);
  const RandomMatrix weights(DType::kQ4_1, 16, kCols, 6);
  const CpuBackend::Matrix packed = rig.backend->PackMatrix(weights.host());
  const CpuBackend::Activations x = rig.Load(RandomRows(kRows, kCols, 9));
  const CpuBackend::Vector norm = rig.PackVector(Row(kCols, 1.0F));
  CpuBackend::Input in = rig.backend->MakeInput(kRows, kCols);
  CpuBackend::Activations out = rig.backend->MakeActivations(kRows, 16);
  rig.backend->RmsNorm(x, norm, 1e-5F, kRows, in);
  rig.backend->MatMul(packed, in, kRows, out);
  const Rows together = rig.Read(out, kRows);
  for (std::int32_t r = 0; r < kRows; ++r) {
    rig.backend->RmsNormRows(x, norm, 1e-5F, std::span(&r, 1), in);
    rig.backend->MatMul(packed, in, 1, out);
    ASSERT_EQ(rig.Read(out, 1)[0], together[r]) << r;
  }
}

TEST(MatMulDeathTest, FloatsMustHaveBeenKept) {
  Rig rig;
  CpuBackend::Input in = rig.backend->MakeInput(1, 32);
  const CpuBackend::Vector norm = rig.PackVector(Row(32, 1.0F));
  CpuBackend::Activations x = rig.backend->MakeActivations(1, 32);
  rig.backend->RmsNorm(x, norm, 1e-5F, 1, in);
  const CpuBackend::Matrix floats = rig.PackFloats({Row(32, 1.0F)});
  CpuBackend::Activations out = rig.backend->MakeActivations(1, 1);
  EXPECT_DEATH(rig.backend->MatMul(floats, in, 1, out), "before floats were needed");
}

}  // namespace
}  // namespace banyan::kernels::testing
