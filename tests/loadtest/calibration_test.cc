#include "loadtest/run/calibration.h"

#include <gtest/gtest.h>

#include <cmath>

namespace banyan::loadtest {
namespace {

// What a server with these costs would show.
std::vector<Observation> Observe(const CostModel& cost) {
  std::vector<Observation> observations;
  for (const std::int64_t tokens : {32, 64, 128, 256, 512, 1024, 2048}) {
    observations.push_back(PrefillTime(tokens, 256, Tick(1)));
  }
  for (const double context : {64.0, 512.0, 2048.0}) {
    for (const std::int64_t rows : {1, 2, 4, 8}) {
      observations.push_back(DecodeTime(rows, context, Tick(1)));
    }
  }
  for (Observation& one : observations) one.nanoseconds = Predict(cost, one);
  return observations;
}

void ExpectNear(const CostModel& a, const CostModel& b, double relative) {
  for (const auto cost : kCosts) {
    EXPECT_NEAR(a.*cost, b.*cost, relative * std::abs(b.*cost) + 1e-6);
  }
}

TEST(FitCosts, FindsTheCostsThatMadeTheTimes) {
  const CostModel cost{2e6, 4e5, 30, 3e5, 45, 1e6};
  ExpectNear(FitCosts(Observe(cost)), cost, 1e-6);
}

TEST(FitCosts, CostsThatAreNotThereAreZero) {
  const CostModel cost{2e6, 4e5, 0, 3e5, 0, 0};
  ExpectNear(FitCosts(Observe(cost)), cost, 1e-6);
}

TEST(FitCosts, NoneIsNegative) {
  std::vector<Observation> observations = Observe({2e6, 4e5, 0, 3e5, 10, 1e6});
  // Times that bend the other way than a cost per context could.
  for (Observation& one : observations) one.nanoseconds = std::pow(one.nanoseconds, 0.9);
  const CostModel fitted = FitCosts(observations);
  for (const auto cost : kCosts) EXPECT_GE(fitted.*cost, 0);
  EXPECT_GT(fitted.prompt_token, 0);
}

TEST(FitCosts, NoiseMovesItLittle) {
  const CostModel cost{2e6, 4e5, 30, 3e5, 45, 1e6};
  std::vector<Observation> observations = Observe(cost);
  double sign = 1;
  for (Observation& one : observations) one.nanoseconds *= 1 + (sign = -sign) * 0.01;
  const CostModel fitted = FitCosts(observations);
  for (const Observation& one : observations) {
    EXPECT_NEAR(Predict(fitted, one) / one.nanoseconds, 1, 0.03);
  }
}

TEST(FitCosts, OfNothingIsNothing) { ExpectNear(FitCosts({}), CostModel(), 0); }

TEST(Observation, AStepTakesSoManyTokensAtMost) {
  for (const auto& [tokens, steps] : {std::pair{255, 1}, {256, 1}, {257, 2}, {512, 2}, {513, 3}}) {
    EXPECT_EQ(PrefillTime(tokens, 256, Tick(1)).parts[0], steps) << tokens;
  }
}

}  // namespace
}  // namespace banyan::loadtest
