// Which slots of a head survive: sinks, recent ones, and the most important between.
#include "kernels/cpu/survivors.h"

#include <cmath>
#include <limits>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace banyan::kernels {
namespace {

using ::testing::ElementsAre;

std::vector<std::int32_t> Choose(const KeepRule& rule, const std::vector<float>& importance) {
  Survivors survivors;
  survivors.Reserve(std::ssize(importance));
  const auto chosen = survivors.Choose(rule, importance);
  return {chosen.begin(), chosen.end()};
}

TEST(Survivors, AreTheMostImportantAndTheRecentOnes) {
  const std::vector<float> importance = {9, 1, 8, 2, 7, 3, 6, 4, 5, 0};
  EXPECT_THAT(Choose({.budget = 5, .recent = 2}, importance), ElementsAre(0, 2, 4, 8, 9));
  EXPECT_THAT(Choose({.budget = 5, .recent = 1}, importance), ElementsAre(0, 2, 4, 6, 9));
  EXPECT_THAT(Choose({.budget = 5, .recent = 5}, importance), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_THAT(Choose({.budget = 1, .recent = 1}, importance), ElementsAre(9));
}

TEST(Survivors, KeepSinksInAnyCase) {
  const std::vector<float> importance = {0, 0, 8, 2, 7, 3, 6, 4, 5, 0};
  EXPECT_THAT(Choose({.budget = 5, .recent = 2, .sinks = 2}, importance),
              ElementsAre(0, 1, 2, 8, 9));
  EXPECT_THAT(Choose({.budget = 4, .recent = 2, .sinks = 2}, importance), ElementsAre(0, 1, 8, 9));
}

TEST(Survivors, AreAllUpToTheBudget) {
  const std::vector<float> importance = {1, 2, 3, 4, 5};
  EXPECT_THAT(Choose({.budget = 6}, importance), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Choose({.budget = 5}, importance), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Choose({.budget = 4}, importance), ElementsAre(1, 2, 3, 4));
}

TEST(Survivors, OfEqualsAreTheLowerSlots) {
  EXPECT_THAT(Choose({.budget = 3}, {1, 1, 1, 1, 1, 1}), ElementsAre(0, 1, 5));
  EXPECT_THAT(Choose({.budget = 4}, {0, 2, 1, 2, 1, 1, 0}), ElementsAre(1, 2, 3, 6));
  EXPECT_THAT(Choose({.budget = 3}, std::vector<float>(1000, 0.0F)), ElementsAre(0, 1, 999));
}

TEST(Survivors, AreAsImportantAsTheirNeighboursWherePooled) {
  const std::vector<float> importance = {0, 0, 0, 9, 0, 0, 0, 5, 0, 0};
  EXPECT_THAT(Choose({.budget = 5, .recent = 1, .pooled = 3}, importance),
              ElementsAre(2, 3, 4, 6, 9));
  EXPECT_THAT(Choose({.budget = 6, .recent = 1, .pooled = 5}, importance),
              ElementsAre(1, 2, 3, 4, 5, 9));
}

TEST(Survivors, OfRecentNeighboursNothingIsPooled) {
  // The recent slot 5 is important, its neighbour 4 is not.
  EXPECT_THAT(Choose({.budget = 2, .recent = 1, .pooled = 3}, {1, 0, 0, 0, 0, 9}),
              ElementsAre(0, 5));
  // A sink lends its importance: 1 is beside 0.
  EXPECT_THAT(Choose({.budget = 3, .recent = 1, .sinks = 1, .pooled = 3}, {5, 0, 0, 1, 0, 0}),
              ElementsAre(0, 1, 5));
}

TEST(Survivors, RulesAreSoundAtTheirBounds) {
  EXPECT_TRUE((KeepRule{.budget = 1, .recent = 1}).is_sound());
  EXPECT_FALSE((KeepRule{.budget = 0, .recent = 0}).is_sound());
  EXPECT_FALSE((KeepRule{.budget = 4, .recent = 0}).is_sound());
  EXPECT_TRUE((KeepRule{.budget = 4, .recent = 2, .sinks = 2}).is_sound());
  EXPECT_FALSE((KeepRule{.budget = 4, .recent = 3, .sinks = 2}).is_sound());
  EXPECT_FALSE((KeepRule{.budget = 4, .recent = 3, .sinks = -1}).is_sound());
  EXPECT_TRUE((KeepRule{.history = 1}).is_sound());
  EXPECT_TRUE((KeepRule{.history = 64}).is_sound());
  EXPECT_FALSE((KeepRule{.history = 0}).is_sound());
  EXPECT_FALSE((KeepRule{.history = 65}).is_sound());
  EXPECT_TRUE((KeepRule{.pooled = 63}).is_sound());
  EXPECT_FALSE((KeepRule{.pooled = 2}).is_sound());
  EXPECT_FALSE((KeepRule{.pooled = 65}).is_sound());
  EXPECT_FALSE((KeepRule{.pooled = -1}).is_sound());
}

TEST(Survivors, MemoryIsReused) {
  Survivors survivors;
  survivors.Reserve(10);
  const std::vector<float> many = {9, 1, 8, 2, 7, 3, 6, 4, 5, 0};
  const std::vector<float> few = {1, 2, 3};
  EXPECT_THAT(survivors.Choose({.budget = 3}, many), ElementsAre(0, 2, 9));
  EXPECT_THAT(survivors.Choose({.budget = 2}, few), ElementsAre(1, 2));
  EXPECT_THAT(survivors.Choose({.budget = 3}, many), ElementsAre(0, 2, 9));
  EXPECT_DEATH(survivors.Choose({.budget = 3}, std::vector<float>(11, 0.0F)), "were reserved");
}

}  // namespace
}  // namespace banyan::kernels
