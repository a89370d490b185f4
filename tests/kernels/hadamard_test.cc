// The transform against its matrix in double precision, and what it is there for.
#include "kernels/cpu/hadamard.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/kv_shape.h"
#include "tests/kernels/kept.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

using ::testing::Each;
using ::testing::FloatNear;
using ::testing::Not;
using ::testing::Pointwise;
using ::testing::Truly;

Row Transformed(Row x) {
  Hadamard(x.data(), std::ssize(x));
  return x;
}

double Dot(const Row& a, const Row& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// (head size, numbers of a block)
class Sizes : public ::testing::TestWithParam<std::pair<int, int>> {};
INSTANTIATE_TEST_SUITE_P(Heads, Sizes,
                         ::testing::Values(std::pair(8, 8), std::pair(16, 16), std::pair(24, 8),
                                           std::pair(64, 64), std::pair(72, 8), std::pair(80, 16),
                                           std::pair(96, 32), std::pair(120, 8),
                                           std::pair(128, 128), std::pair(256, 256),
                                           std::pair(1024, 1024)),
                         [](const auto& size) { return std::to_string(size.param.first); });

TEST_P(Sizes, BlocksAreMultipliedByTheMatrix) {
  const auto [size, block] = GetParam();
  const Row x = RandomRows(1, size, 1)[0];
  Row expected;
  for (int i = 0; i < size; ++i) {
    const int first = i / block * block;
    double sum = 0;
    for (int j = 0; j < block; ++j) {
      const bool odd = std::popcount(static_cast<unsigned>((i - first) & j)) % 2 == 1;
      sum += odd ? -x[first + j] : x[first + j];
    }
    expected.push_back(static_cast<float>(sum / std::sqrt(block)));
  }
  EXPECT_THAT(Transformed(x), Pointwise(FloatNear(1e-6F), expected));
}

TEST_P(Sizes, TwiceIsTheSameAndProductsStay) {
  const int size = GetParam().first;
  const Row a = RandomRows(1, size, 2)[0];
  const Row b = RandomRows(1, size, 3)[0];
  EXPECT_THAT(Transformed(Transformed(a)), Pointwise(FloatNear(1e-6F), a));
  EXPECT_NEAR(Dot(Transformed(a), Transformed(b)), Dot(a, b), 1e-5);
}

TEST_P(Sizes, WhatIsNotFiniteSpoilsItsBlock) {
  const auto [size, block] = GetParam();
  const Row clean = RandomRows(1, size, 4)[0];
  Row x = clean;
  x[size - 3] = std::numeric_limits<float>::infinity();
  x[size - 2] = -std::numeric_limits<float>::infinity();
  const Row out = Transformed(x);
  EXPECT_THAT(Row(out.end() - block, out.end()),
              Each(Not(Truly([](float y) { return std::isfinite(y); }))));
  const Row before = Transformed(clean);
  EXPECT_EQ(Row(out.begin(), out.end() - block), Row(before.begin(), before.end() - block));
}

// Keys of models have a few channels that are far greater than the others, and queries too.
TEST(KeyBasis, AFewGreatChannelsCostLess) {
  constexpr int kDims = 64;
  for (const KvFormat format : kKvFormats) {
    if (!SpreadsKeys(format)) continue;
    double as_they_are = 0;
    double spread = 0;
    for (std::uint32_t seed = 1; seed <= 200; ++seed) {
      Row q = RandomRows(1, kDims, seed)[0];
      Row k = RandomRows(1, kDims, seed + 1000)[0];
      for (const int channel : {3, 40}) {
        q[channel] *= 4;
        k[channel] *= 20;
      }
      as_they_are += std::pow(Dot(q, Kept(format, k)) - Dot(q, k), 2);
      spread += std::pow(Dot(q, KeptKey(format, k)) - Dot(q, k), 2);
    }
    EXPECT_LT(spread, as_they_are / 4) << LayoutOf(format).name;
  }
}

}  // namespace
}  // namespace banyan::kernels::testing
