// Perplexity, divergence and agreement against values worked out by hand.
#include "server/eval/comparison.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace banyan::server {
namespace {

constexpr double kClose = 1e-6;  // logits are floats

const float kLog3 = std::log(3.0F);

TEST(CompareLogits, AreWhatTheirDefinitionsSay) {
  // Probabilities 1/4, 3/4 beside 1/2, 1/2.
  const std::vector<float> exact = {0, kLog3};
  const std::vector<float> other = {0, 0};
  const TokenComparison second = CompareLogits(exact, other, 1);
  EXPECT_NEAR(second.exact_surprise, std::log(4.0 / 3), kClose);
  EXPECT_NEAR(second.surprise, std::log(2.0), kClose);
  EXPECT_NEAR(second.divergence, std::log(0.5) / 4 + 3 * std::log(1.5) / 4, kClose);
  EXPECT_FALSE(second.same_greedy) << "of equal logits the first is the greatest";
  const TokenComparison first = CompareLogits(exact, other, 0);
  EXPECT_NEAR(first.exact_surprise, std::log(4.0), kClose);
  EXPECT_DOUBLE_EQ(first.divergence, second.divergence);
}

TEST(CompareLogits, TheDivergenceIsFromTheExactOne) {
  const TokenComparison swapped =
      CompareLogits(std::vector<float>{0, 0}, std::vector<float>{0, kLog3}, 0);
  EXPECT_NEAR(swapped.divergence, (std::log(2.0) + std::log(2.0 / 3)) / 2, kClose);
}

TEST(CompareLogits, OnlyDifferencesOfLogitsCount) {
  const TokenComparison plain =
      CompareLogits(std::vector<float>{1, 2, 3}, std::vector<float>{1, 2.5, 3}, 2);
  const TokenComparison moved =
      CompareLogits(std::vector<float>{1, 2, 3}, std::vector<float>{-999, -997.5, -997}, 2);
  EXPECT_NEAR(plain.divergence, moved.divergence, kClose);
  EXPECT_NEAR(plain.surprise, moved.surprise, kClose);
  EXPECT_TRUE(moved.same_greedy);
}

TEST(CompareLogits, TheSameBitsDivergeByExactlyNothing) {
  std::vector<float> logits;
  for (int i = 0; i < 1000; ++i) logits.push_back(20 * std::sin(static_cast<float>(i * i)));
  const TokenComparison same = CompareLogits(logits, logits, 7);
  EXPECT_EQ(same.divergence, 0);
  EXPECT_EQ(same.exact_surprise, same.surprise);
  EXPECT_TRUE(same.same_greedy);
}

TEST(CompareLogits, AreFiniteWhereOneTokenIsCertain) {
  const TokenComparison far =
      CompareLogits(std::vector<float>{0, 5000}, std::vector<float>{5000, 0}, 0);
  EXPECT_DOUBLE_EQ(far.exact_surprise, 5000);
  EXPECT_DOUBLE_EQ(far.surprise, 0);
  EXPECT_DOUBLE_EQ(far.divergence, 5000);
  EXPECT_FALSE(far.same_greedy);
}

TEST(Comparison, SummarizesAText) {
  Comparison comparison;
  comparison.Add({.exact_surprise = 1, .surprise = 1, .divergence = 0.5, .same_greedy = true});
  comparison.Add({.exact_surprise = 2, .surprise = 3, .divergence = 0.1, .same_greedy = false});
  const Quality quality = comparison.Summary();
  EXPECT_EQ(quality.tokens, 2);
  EXPECT_DOUBLE_EQ(quality.exact_perplexity, std::exp(1.5));
  EXPECT_DOUBLE_EQ(quality.perplexity, std::exp(2));
  // Surprises 1 and 3: a deviation of sqrt(2), so an error of the mean of 1.
  EXPECT_DOUBLE_EQ(quality.perplexity_error, std::exp(2));
  EXPECT_DOUBLE_EQ(quality.ratio, std::exp(0.5));
  EXPECT_DOUBLE_EQ(quality.ratio_error, std::exp(0.5) * 0.5);
  EXPECT_DOUBLE_EQ(quality.mean_divergence, 0.3);
  EXPECT_DOUBLE_EQ(quality.p99_divergence, 0.5);
  EXPECT_DOUBLE_EQ(quality.greedy_agreement, 0.5);
}

TEST(Comparison, OneTokenHasNoErrorToTell) {
  Comparison comparison;
  comparison.Add({.exact_surprise = 1, .surprise = 2, .divergence = 0.5, .same_greedy = true});
  const Quality quality = comparison.Summary();
  EXPECT_EQ(quality.perplexity_error, 0);
  EXPECT_EQ(quality.ratio_error, 0);
  EXPECT_EQ(quality.p99_divergence, 0.5);
}

TEST(Comparison, TheNinetyNinthPercentileIsOneOfTheDivergences) {
  const auto p99 = [](int count) {
    Comparison comparison;
    for (int i = count; i > 0; --i) comparison.Add({.divergence = static_cast<double>(i)});
    return comparison.Summary().p99_divergence;
  };
  EXPECT_EQ(p99(99), 99) << "99 of 100 places at most: with fewer than 100, all";
  EXPECT_EQ(p99(100), 99);
  EXPECT_EQ(p99(101), 100);
  EXPECT_EQ(p99(200), 198);
}

}  // namespace
}  // namespace banyan::server
