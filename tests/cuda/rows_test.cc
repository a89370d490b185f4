// Operations on rows of activations against double precision.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/half.h"
#include "kernels/small_floats.h"
#include "tests/cuda/rig.h"

namespace banyan::kernels::cuda::testing {
namespace {

using ::testing::ElementsAre;

constexpr float kEps = 1e-5F;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Within `steps` of a float's rounding errors.
void ExpectNear(const Row& got, const std::vector<double>& expected, double steps) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], steps * 0x1p-24 * std::max(1e-3, std::fabs(expected[i])))
        << "number " << i;
}

std::vector<double> Normed(const Row& x, const Row& weight, double eps) {
  double squares = 0;
  for (const float v : x) squares += static_cast<double>(v) * v;
  const double inverse = 1 / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  std::vector<double> out;
  for (std::size_t i = 0; i < x.size(); ++i) out.push_back(x[i] * inverse * weight[i]);
  return out;
}

Row RunRmsNorm(const Rows& x, const Row& weight) {
  const auto cols = static_cast<std::int32_t>(weight.size());
  const DeviceArray<float> in(Flat(x));
  const DeviceArray<float> w(weight);
  DeviceArray<float> out(in.size());
  RmsNorm(nullptr, in.data(), nullptr, w.data(), kEps, static_cast<std::int32_t>(x.size()), cols,
          {out.data(), NumberType::kF32});
  return out.Read();
}

TEST(Rows, EmbedReadsTheRowsThatAreNamedAndScalesThem) {
  const std::vector<Half> table = {{FloatToHalf(1)}, {FloatToHalf(2)}, {FloatToHalf(-3)},
                                   {FloatToHalf(4)}, {FloatToHalf(5)}, {FloatToHalf(6)}};
  const DeviceArray<Half> matrix(table);
  const DeviceArray<std::int32_t> ids(std::vector<std::int32_t>{2, 0, 2});
  DeviceArray<float> x(6);
  Embed(nullptr, {matrix.data(), NumberType::kF16}, 2, ids.data(), 3, 0.5F, x.data());
  EXPECT_THAT(x.Read(), ElementsAre(2.5F, 3, 0.5F, 1, 2.5F, 3));
}

TEST(Rows, EmbedTakesEveryTypeAndMoreColumnsThanThreads) {
  constexpr std::int64_t kCols = 300;
  const Row values = RandomRows(1, 2 * kCols, 1)[0];
  std::vector<Bf16> rounded;
  for (const float v : values) rounded.push_back({FloatToBf16(v)});
  const DeviceArray<float> floats(values);
  const DeviceArray<Bf16> bf16(rounded);
  const DeviceArray<std::int32_t> ids(std::vector<std::int32_t>{1});
  DeviceArray<float> x(kCols);
  Embed(nullptr, {floats.data(), NumberType::kF32}, kCols, ids.data(), 1, 1.0F, x.data());
  EXPECT_EQ(x.Read(), Row(values.begin() + kCols, values.end()));
  Embed(nullptr, {bf16.data(), NumberType::kBf16}, kCols, ids.data(), 1, 1.0F, x.data());
  const Row got = x.Read();
  for (std::int64_t i = 0; i < kCols; ++i) EXPECT_EQ(got[i], Bf16ToFloat(rounded[kCols + i].bits));
}

TEST(Rows, RmsNormMatchesDoublePrecision) {
  for (const int cols : {1, 7, 255, 256, 257, 576, 2048}) {
    const Rows x = RandomRows(3, cols, 1, 5.0F);
    const Row weight = RandomRows(1, cols, 2)[0];
    std::vector<double> expected;
    for (const Row& row : x)
      for (const double v : Normed(row, weight, kEps)) expected.push_back(v);
    ExpectNear(RunRmsNorm(x, weight), expected, 16);
  }
}

TEST(Rows, RmsNormOfARowDoesNotDependOnTheOthers) {
  const Rows x = RandomRows(5, 576, 3);
  const Row weight = RandomRows(1, 576, 4)[0];
  const Rows together = Unflat(RunRmsNorm(x, weight), 576);
  for (std::size_t row = 0; row < x.size(); ++row)
    EXPECT_EQ(RunRmsNorm({x[row]}, weight), together[row]);
}

TEST(Rows, RmsNormOfChosenRowsInTheInputsType) {
  const Rows x = RandomRows(4, 64, 5);
  const Row weight = RandomRows(1, 64, 6)[0];
  const Rows all = Unflat(RunRmsNorm(x, weight), 64);
  const DeviceArray<float> in(Flat(x));
  const DeviceArray<float> w(weight);
  const DeviceArray<std::int32_t> chosen(std::vector<std::int32_t>{3, 1});
  DeviceArray<Half> half(2 * 64);
  DeviceArray<Bf16> bf16(2 * 64);
  RmsNorm(nullptr, in.data(), chosen.data(), w.data(), kEps, 2, 64,
          {half.data(), NumberType::kF16});
  RmsNorm(nullptr, in.data(), chosen.data(), w.data(), kEps, 2, 64,
          {bf16.data(), NumberType::kBf16});
  for (int i = 0; i < 128; ++i) {
    const float exact = all[i < 64 ? 3 : 1][i % 64];
    EXPECT_EQ(half.Read()[i].bits, FloatToHalf(exact));
    EXPECT_EQ(bf16.Read()[i].bits, FloatToBf16(exact));
  }
}

TEST(Rows, RmsNormAddAddsToTheResidual) {
  const Rows in = RandomRows(2, 300, 7);
  const Rows before = RandomRows(2, 300, 8);
  const Row weight = RandomRows(1, 300, 9)[0];
  const DeviceArray<float> device_in(Flat(in));
  const DeviceArray<float> w(weight);
  DeviceArray<float> x(Flat(before));
  RmsNormAdd(nullptr, device_in.data(), w.data(), kEps, 2, 300, x.data());
  const Rows got = Unflat(x.Read(), 300);
  for (int row = 0; row < 2; ++row) {
    const std::vector<double> normed = Normed(in[row], weight, kEps);
    for (int i = 0; i < 300; ++i)
      EXPECT_NEAR(got[row][i], normed[i] + before[row][i], 4e-6) << row << ", " << i;
  }
}

TEST(Rows, RmsNormHeadsNormsEveryHeadByItself) {
  for (const int head_dim : {8, 31, 64, 128, 256}) {
    const Rows heads = RandomRows(6, head_dim, 10, 3.0F);  // more than a block's warps
    const Row weight = RandomRows(1, head_dim, 11)[0];
    const DeviceArray<float> w(weight);
    DeviceArray<float> x(Flat(heads));
    RmsNormHeads(nullptr, w.data(), kEps, 6, head_dim, x.data());
    std::vector<double> expected;
    for (const Row& head : heads)
      for (const double v : Normed(head, weight, kEps)) expected.push_back(v);
    ExpectNear(x.Read(), expected, 16);
  }
}

Row RunGate(GateFunction function, const Row& gate, const Row& up) {
  const DeviceArray<float> g(gate);
  const DeviceArray<float> u(up);
  DeviceArray<float> out(gate.size());
  Gate(nullptr, function, g.data(), u.data(), static_cast<std::int64_t>(gate.size()),
       {out.data(), NumberType::kF32});
  return out.Read();
}

TEST(Rows, GatesMatchDoublePrecision) {
  for (const int count : {1, 1023, 1024, 1025}) {
    const Row gate = RandomRows(1, count, 12, 6.0F)[0];
    const Row up = RandomRows(1, count, 13)[0];
    std::vector<double> silu;
    std::vector<double> gelu;
    for (int i = 0; i < count; ++i) {
      const double g = gate[i];
      const double u = std::sqrt(2 / std::acos(-1.0)) * (g + 0.044715 * g * g * g);
      silu.push_back(g / (1 + std::exp(-g)) * up[i]);
      gelu.push_back(g / (1 + std::exp(-2 * u)) * up[i]);
    }
    ExpectNear(RunGate(GateFunction::kSilu, gate, up), silu, 32);
    ExpectNear(RunGate(GateFunction::kGeluTanh, gate, up), gelu, 256);
  }
}

TEST(Rows, GatesOfTheGreatestArgumentsAreNotNaN) {
  const Row gate = {-1e30F, -200.0F, 200.0F};
  EXPECT_THAT(RunGate(GateFunction::kSilu, gate, {1, 1, 1}), ElementsAre(0.0F, 0.0F, 200.0F));
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
