// Random numbers: the same everywhere, and distributed as they say. Bounds are five standard errors
// of fixed seeds, so a test fails only with a change of the code.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "loadtest/workload/random.h"

namespace banyan::loadtest {
namespace {

constexpr int kDraws = 100'000;

struct Moments {
  double mean = 0, deviation = 0;
};

Moments Measure(const std::function<double()>& draw) {
  double sum = 0, squares = 0;
  for (int i = 0; i < kDraws; ++i) {
    const double value = draw();
    sum += value;
    squares += value * value;
  }
  const double mean = sum / kDraws;
  return {.mean = mean, .deviation = std::sqrt(squares / kDraws - mean * mean)};
}

TEST(Random, LogarithmsAndPowersAgreeWithTheLibrary) {
  for (double x = 1e-300; x < 1e300; x *= 1.37) {
    EXPECT_NEAR(Log(x), std::log(x), 1e-15 * (1 + std::abs(std::log(x)))) << x;
  }
  for (double x = 0.9; x < 1.1; x += 0.0011) EXPECT_NEAR(Log(x), std::log(x), 1e-16) << x;
  for (double x = -699; x < 699; x += 0.377) {
    EXPECT_NEAR(Exp(x) / std::exp(x), 1, 1e-15) << x;
  }
  EXPECT_EQ(Exp(0), 1);
  EXPECT_EQ(Log(1), 0);
  EXPECT_EQ(Exp(-1e9), 0);
}

// SplitMix64's own numbers for the seed whose mixture is 0; another machine must get the same.
TEST(Random, TheSequenceIsFixed) {
  Random random(0);
  EXPECT_EQ(random.Next(), 0xe220a8397b1dcdafU);
  EXPECT_EQ(random.Next(), 0x6e789e6aa1b965f4U);
  EXPECT_EQ(random.Next(), 0x06c45d188009454fU);
}

TEST(Random, UniformNumbersLieBetweenZeroAndOne) {
  Random random(1);
  const Moments moments = Measure([&] {
    const double value = random.Uniform();
    EXPECT_GT(value, 0);
    EXPECT_LT(value, 1);
    return value;
  });
  EXPECT_NEAR(moments.mean, 0.5, 0.005);
  EXPECT_NEAR(moments.deviation, std::sqrt(1.0 / 12), 0.003);
}

TEST(Random, ExponentialAndNormalNumbersHaveTheirMoments) {
  Random random(2);
  const Moments exponential = Measure([&] { return random.Exponential(); });
  EXPECT_NEAR(exponential.mean, 1, 0.016);
  EXPECT_NEAR(exponential.deviation, 1, 0.03);
  const Moments normal = Measure([&] { return random.Normal(); });
  EXPECT_NEAR(normal.mean, 0, 0.016);
  EXPECT_NEAR(normal.deviation, 1, 0.012);
}

TEST(Random, GammaNumbersHaveTheirMomentsForSmallAndLargeShapes) {
  for (const double shape : {0.25, 0.9, 1.0, 4.0, 50.0}) {
    Random random(3);
    const Moments moments = Measure([&] { return random.Gamma(shape); });
    EXPECT_NEAR(moments.mean / shape, 1, 0.016 / std::sqrt(shape)) << shape;
    EXPECT_NEAR(moments.deviation / std::sqrt(shape), 1, 0.04) << shape;
  }
}

TEST(Random, GeometricNumbersBeginWithOne) {
  Random random(4);
  std::int64_t least = 100;
  const Moments moments = Measure([&] {
    const std::int64_t value = random.Geometric(5);
    least = std::min(least, value);
    return static_cast<double>(value);
  });
  EXPECT_EQ(least, 1);
  EXPECT_NEAR(moments.mean, 5, 0.08);
  EXPECT_NEAR(moments.deviation, std::sqrt(20.0), 0.12);
  EXPECT_EQ(Random(5).Geometric(1), 1);
}

TEST(Zipf, RanksHaveTheirWeights) {
  for (const double exponent : {0.0, 1.0, 2.5}) {
    const Zipf zipf(4, exponent);
    Random random(6);
    std::vector<double> counts(4);
    for (int i = 0; i < kDraws; ++i) counts.at(static_cast<std::size_t>(zipf.Draw(random))) += 1;
    double sum = 0;
    for (int rank = 1; rank <= 4; ++rank) sum += std::pow(rank, -exponent);
    for (int rank = 1; rank <= 4; ++rank) {
      EXPECT_NEAR(counts[static_cast<std::size_t>(rank - 1)] / kDraws,
                  std::pow(rank, -exponent) / sum, 0.008)
          << exponent << ", rank " << rank;
    }
  }
  Random random(7);
  EXPECT_EQ(Zipf(1, 1).Draw(random), 0);
}

}  // namespace
}  // namespace banyan::loadtest
