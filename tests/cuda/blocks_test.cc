// Blocks of files on the device: what they are worth, and products with them.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/blocks.h"
#include "kernels/half.h"
#include "kernels/small_floats.h"
#include "tests/cuda/rig.h"

namespace banyan::kernels::cuda::testing {
namespace {

using kernels::testing::RandomMatrix;

constexpr DType kTypes[] = {DType::kF32,  DType::kF16,  DType::kBF16, DType::kQ4_0,
                            DType::kQ4_1, DType::kQ5_0, DType::kQ5_1, DType::kQ8_0,
                            DType::kQ4_K, DType::kQ5_K, DType::kQ6_K};

// A matrix in the device's memory.
struct Uploaded {
  explicit Uploaded(const HostTensor& host)
      : bytes(std::vector<std::byte>(host.data, host.data + host.rows * host.cols /
                                                                ShapeOf(host.type).block *
                                                                ShapeOf(host.type).bytes)),
        matrix{host.type, bytes.data(), host.rows, host.cols} {}
  DeviceArray<std::byte> bytes;
  BlockMatrix matrix;
};

class Blocks : public ::testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(Types, Blocks, ::testing::ValuesIn(kTypes),
                         [](const auto& type) { return std::string(ShapeOf(type.param).name); });

TEST_P(Blocks, AreWorthWhatTheReferenceSays) {
  const RandomMatrix host(GetParam(), 3, 512, 1);
  const Uploaded on_device(host.host());
  DeviceArray<float> floats(3 * 512);
  DeviceArray<Half> halves(3 * 512);
  DeviceArray<Bf16> bf16(3 * 512);
  Dequantize(nullptr, on_device.matrix, {floats.data(), NumberType::kF32});
  Dequantize(nullptr, on_device.matrix, {halves.data(), NumberType::kF16});
  Dequantize(nullptr, on_device.matrix, {bf16.data(), NumberType::kBf16});
  const Rows got = Unflat(floats.Read(), 512);
  const std::vector<Half> got_halves = halves.Read();
  const std::vector<Bf16> got_bf16 = bf16.Read();
  for (int row = 0; row < 3; ++row) {
    const Row expected = host.Dequantized(row);
    EXPECT_EQ(got[row], expected);
    for (int i = 0; i < 512; ++i) {
      EXPECT_EQ(got_halves[row * 512 + i].bits, FloatToHalf(expected[i]));
      EXPECT_EQ(got_bf16[row * 512 + i].bits, FloatToBf16(expected[i]));
    }
  }
}

// Of `rows` rows of x; what y held before is `before`.
Row Product(const BlockMatrix& w, const std::vector<Half>& x, const Row& bias, const Row& before,
            bool adds) {
  const DeviceArray<Half> device_x(x);
  const DeviceArray<float> device_bias(bias);
  DeviceArray<float> y(before);
  MultiplyBlocks(nullptr, {.weights = w,
                           .x = {device_x.data(), NumberType::kF16},
                           .bias = bias.empty() ? nullptr : device_bias.data(),
                           .rows = static_cast<std::int32_t>(x.size() / w.cols),
                           .y = y.data(),
                           .adds = adds});
  return y.Read();
}

std::vector<Half> HalvesOf(const Rows& rows) {
  std::vector<Half> out;
  for (const Row& row : rows)
    for (const float value : row) out.push_back({FloatToHalf(value)});
  return out;
}

TEST_P(Blocks, ProductsMatchDoublePrecision) {
  constexpr int kOutputs = 7;  // not whole blocks of threads
  constexpr int kInputs = 768;
  const RandomMatrix host(GetParam(), kOutputs, kInputs, 2);
  const Uploaded w(host.host());
  const Row bias = RandomRows(1, kOutputs, 3)[0];
  for (const int rows : {1, 3, 8, 9}) {
    const std::vector<Half> x = HalvesOf(RandomRows(rows, kInputs, 4));
    const Row before = RandomRows(1, rows * kOutputs, 5)[0];
    const Row plain = Product(w.matrix, x, {}, before, false);
    const Row added = Product(w.matrix, x, bias, before, true);
    for (int row = 0; row < rows; ++row) {
      for (int output = 0; output < kOutputs; ++output) {
        const Row weights = host.Dequantized(output);
        double sum = 0;
        double magnitude = 0;
        for (int i = 0; i < kInputs; ++i) {
          const double product =
              static_cast<double>(weights[i]) * HalfToFloat(x[row * kInputs + i].bits);
          sum += product;
          magnitude += std::fabs(product);
        }
        const int at = row * kOutputs + output;
        const double bound = 1e-6 * (magnitude + 1);
        EXPECT_NEAR(plain[at], sum, bound);
        EXPECT_NEAR(added[at], sum + bias[output] + before[at], bound);
      }
    }
  }
}

TEST_P(Blocks, AProductOfARowDoesNotDependOnTheOthers) {
  const RandomMatrix host(GetParam(), 5, 512, 6);
  const Uploaded w(host.host());
  const Rows x = RandomRows(11, 512, 7);
  const Rows together = Unflat(Product(w.matrix, HalvesOf(x), {}, Row(11 * 5), false), 5);
  for (std::size_t row = 0; row < x.size(); ++row)
    EXPECT_EQ(Product(w.matrix, HalvesOf({x[row]}), {}, Row(5), false), together[row]);
}

TEST(BlocksDeathTest, RowsAreWholeBlocks) {
  const std::vector<std::byte> bytes(1024);
  DeviceArray<float> out(1024);
  EXPECT_DEATH(
      Dequantize(nullptr, {DType::kQ4_0, bytes.data(), 1, 40}, {out.data(), NumberType::kF32}),
      "whole blocks");
  EXPECT_DEATH(
      Dequantize(nullptr, {DType::kF32, bytes.data(), 1, 20}, {out.data(), NumberType::kF32}),
      "whole eights");
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
