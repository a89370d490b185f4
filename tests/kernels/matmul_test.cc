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
using ::testing::ValuesIn;

constexpr int kMaxRows = 64;
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

// The greatest |weight| of each weight's block of at most 32, as often as it has weights: what the
// parts of a weight, d * code and m, are the size of, where they cancel too.
Row Magnitudes(const Row& w) {
  Row out(w.size());
  for (std::size_t block = 0; block < w.size(); block += 32) {
    const std::size_t end = std::min(block + 32, w.size());
    float greatest = 0;
    for (std::size_t k = block; k < end; ++k) greatest = std::max(greatest, std::fabs(w[k]));
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(block),
              out.begin() + static_cast<std::ptrdiff_t>(end), greatest);
  }
  return out;
}

TEST_P(MatMul, AgreesWithDoublePrecision) {
  constexpr int kRows = 9;
  Rig rig(2);
  const RandomMatrix weights(type(), outputs(), cols(), 1);
  const CpuBackend::Matrix packed = rig.backend->PackMatrix(weights.host());
  const Prepared input(rig, type(), cols(), kRows);
  const Rows exact = rig.Floats(input.in, kRows);
  CpuBackend::Activations out = rig.backend->MakeActivations(kMaxRows, outputs());
  rig.backend->MatMul(packed, input.in, kRows, out);
  const Rows results = rig.Read(out, kRows);
  for (int o = 0; o < outputs(); ++o) {
    const Row w = weights.Dequantized(o);
    const Row magnitudes = Magnitudes(w);
    for (int r = 0; r < kRows; ++r) {
      double of_seen = 0;   // of the activations as the matrix reads them
      double of_exact = 0;  // of those before they were quantized
      double rounding = 0;
      double step = 0;  // half a step of the activations' quantization, at worst
      const Row greatest = Magnitudes(exact[r]);
      for (int k = 0; k < cols(); ++k) {
        of_seen += static_cast<double>(w[k]) * input.seen[r][k];
        of_exact += static_cast<double>(w[k]) * exact[r][k];
        rounding += static_cast<double>(magnitudes[k]) * std::fabs(input.seen[r][k]);
        step += std::fabs(static_cast<double>(w[k])) * greatest[k] / 127 / 2;
      }
      if (!IsQuantized(type())) step = 0;
      ASSERT_NEAR(results[r][o], of_seen, 2e-6 * rounding) << "row " << r << " output " << o;
      ASSERT_NEAR(results[r][o], of_exact, 1.001 * step + 2e-6 * rounding)
          << "row " << r << " output " << o;
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
      // As bytes: a zero has its sign too.
      ASSERT_EQ(std::memcmp(rows[i].data(), expected.data(), cols() * sizeof(float)), 0) << ids[i];
    }
  }
}

std::string Name(const ::testing::TestParamInfo<std::tuple<DType, int, int>>& info) {
  return std::string(ShapeOf(std::get<0>(info.param)).name) + "_" +
         std::to_string(std::get<1>(info.param)) + "x" + std::to_string(std::get<2>(info.param));
}

constexpr DType kFloats[] = {DType::kF32, DType::kF16, DType::kBF16};
constexpr DType kBlocksOf32[] = {DType::kQ4_0, DType::kQ4_1, DType::kQ5_0, DType::kQ5_1,
                                 DType::kQ8_0};
constexpr DType kBlocksOf256[] = {DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};
constexpr int kOutputs[] = {1, 15, 16, 33};

INSTANTIATE_TEST_SUITE_P(Floats, MatMul,
                         Combine(ValuesIn(kFloats), ValuesIn(kOutputs), Values(1, 5, 37, 160)),
                         Name);
INSTANTIATE_TEST_SUITE_P(BlocksOf32, MatMul,
                         Combine(ValuesIn(kBlocksOf32), ValuesIn(kOutputs), Values(32, 160)), Name);
INSTANTIATE_TEST_SUITE_P(BlocksOf256, MatMul,
                         Combine(ValuesIn(kBlocksOf256), ValuesIn(kOutputs), Values(256, 768)),
                         Name);

// (type, every byte of the codes, every byte of scales and mins, every activation)
class ExtremeSums : public ::testing::TestWithParam<std::tuple<DType, int, int, float>> {};

// Blocks whose every product is as large as the format allows: sums of 16 bits must hold them.
TEST_P(ExtremeSums, DoNotOverflow) {
  const auto [type, codes, scales, value] = GetParam();
  const BlockShape shape = ShapeOf(type);
  const int cols = static_cast<int>(shape.block);
  Rig rig;
  std::vector<std::byte> bytes(8 * shape.bytes, static_cast<std::byte>(codes));
  const std::uint16_t one = FloatToHalf(1.0F);
  for (int r = 0; r < 8; ++r) {
    std::byte* block = bytes.data() + r * shape.bytes;
    if (type == DType::kQ6_K) {
      std::memset(block + 192, scales, 16);
      std::memcpy(block + 208, &one, 2);
      continue;
    }
    std::memcpy(block, &one, 2);
    if (type == DType::kQ4_1 || type == DType::kQ5_1) std::memset(block + 2, 0, 2);
    if (cols != 256) continue;
    std::memcpy(block + 2, &one, 2);
    std::memset(block + 4, scales, 12);
  }
  const HostTensor host{type, 8, cols, bytes.data()};
  const CpuBackend::Matrix packed = rig.backend->PackMatrix(host);
  // A norm of equal values is 1, so that the weight of the norm is the input.
  CpuBackend::Input in = rig.backend->MakeInput(1, cols);
  rig.backend->RmsNorm(rig.Load({Row(cols, 1.0F)}), rig.PackVector(Row(cols, value)), 0.0F, 1, in);
  CpuBackend::Activations out = rig.backend->MakeActivations(1, 8);
  rig.backend->MatMul(packed, in, 1, out);
  Row weights(cols);
  DequantizeRow(host, 0, weights);
  double sum = 0;
  for (const float weight : weights) sum += static_cast<double>(weight) * value;
  const Rows results = rig.Read(out, 1);
  for (const float result : results[0]) EXPECT_FLOAT_EQ(result, static_cast<float>(sum));
}

INSTANTIATE_TEST_SUITE_P(BlocksOf32, ExtremeSums,
                         Combine(ValuesIn(kBlocksOf32), Values(0x00, 0x7f, 0x80, 0xff), Values(0),
                                 Values(127.0F, -127.0F)));
INSTANTIATE_TEST_SUITE_P(BlocksOf256, ExtremeSums,
                         Combine(ValuesIn(kBlocksOf256), Values(0x00, 0xff),
                                 Values(0x00, 0x7f, 0x80, 0xff), Values(127.0F, -127.0F)));

class MatMulBlocking : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Formats, MatMulBlocking,
                         Values(DType::kF16, DType::kQ4_1, DType::kQ8_0, DType::kQ5_K,
                                DType::kQ6_K));

TEST_P(MatMulBlocking, ManyWideRowsHaveTheBitsOfOne) {
  // More bytes of input than stay in the second-level cache, so that rows go in several groups.
  constexpr int kCols = 8192;
  constexpr int kRows = 83;
  Rig rig(2);
  const RandomMatrix weights(GetParam(), 16, kCols, 6);
  const CpuBackend::Matrix packed = rig.backend->PackMatrix(weights.host());
  rig.KeepFloats();
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
