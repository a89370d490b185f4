// Arithmetic over a row, against plain loops in double.
#include "model/logit_math.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "tests/model/sampling_oracle.h"

namespace banyan::model {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(Max, AtEveryPlace) {
  for (const std::size_t size : {1, 7, 8, 9, 17}) {
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<float> values(size, -3.0F);
      values[at] = -2;
      EXPECT_EQ(Max(values), -2);
    }
  }
  EXPECT_EQ(Max({}), -kInfinity);
}

TEST(AllFinite, SeesEveryKindAtEveryPlace) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    for (std::size_t at = 0; at < 19; ++at) {
      std::vector<float> values(19, std::numeric_limits<float>::max());
      EXPECT_TRUE(AllFinite(values));
      values[at] = bad;
      EXPECT_FALSE(AllFinite(values)) << bad << " at " << at;
    }
  }
}

TEST(Weigh, IsExpWithinThreeUnits) {
  std::vector<float> logits;
  for (int i = 0; i <= 90000; ++i) logits.push_back(static_cast<float>(-i) / 1000);
  std::vector<float> weights(logits.size());
  Weigh(logits, 0, 1, weights);
  EXPECT_EQ(weights[0], 1);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double want = std::exp(static_cast<double>(logits[i]));
    const double lost = std::numeric_limits<float>::min();  // may become 0
    EXPECT_NEAR(weights[i], want, want < lost ? want : want * 3 * 0x1p-23) << logits[i];
  }
  EXPECT_EQ(weights.back(), 0);
}

TEST(Weigh, OfWhatIsForbiddenIsNothing) {
  const std::vector<float> logits = {-kInfinity, 2, -std::numeric_limits<float>::max()};
  std::vector<float> weights(3);
  for (const float temperature : {1e-30F, 1.0F, 2.0F}) {
    Weigh(logits, 2, temperature, weights);
    EXPECT_THAT(weights, ::testing::ElementsAre(0, 1, 0));
  }
}

TEST(SumOfExp, OverRuns) {
  for (const std::size_t size : {1, 1023, 1024, 1025, 5000}) {
    const std::vector<float> logits = SomeLogits(size, 9);
    double want = 0;
    for (const float logit : logits) want += std::exp(static_cast<double>(logit) - 9);
    EXPECT_NEAR(SumOfExp(logits, 9), want, want * 1e-6);
  }
}

// Rows in rising, falling and no order, with and without equals and tokens without weight.
TEST(Leaders, AreTheFirstOfASort) {
  constexpr std::size_t kSize = 1000;
  std::vector<std::vector<float>> rows = {SomeLogits(kSize, 3), std::vector<float>(kSize, 1.0F)};
  std::vector<float> steps = SomeLogits(kSize, 3);
  for (float& logit : steps) logit = std::round(logit);
  rows.push_back(steps);
  std::sort(steps.begin(), steps.end());
  rows.push_back(steps);
  std::reverse(steps.begin(), steps.end());
  rows.push_back(steps);
  Leaders leaders;
  for (const std::vector<float>& logits : rows) {
    for (const bool some : {false, true}) {
      std::vector<float> weights;
      for (std::size_t i = 0; some && i < kSize; ++i) weights.push_back(i % 3 == 0 ? 0.0F : 1.0F);
      std::vector<TokenId> sorted;
      for (std::size_t i = 0; i < kSize; ++i) {
        if (!some || weights[i] > 0) sorted.push_back(static_cast<TokenId>(i));
      }
      std::stable_sort(sorted.begin(), sorted.end(), [&](TokenId a, TokenId b) {
        return logits[static_cast<std::size_t>(a)] > logits[static_cast<std::size_t>(b)];
      });
      for (const std::size_t count : {1u, 2u, 20u, 499u, 665u, 666u, 667u, 999u, 1000u, 1001u}) {
        const std::span<Ranked> found = leaders.Find(logits, weights, count);
        std::vector<TokenId> want(
            sorted.begin(),
            sorted.begin() + static_cast<std::ptrdiff_t>(std::min(count, sorted.size())));
        ASSERT_EQ(found.size(), want.size());
        EXPECT_EQ(found.back().token, want.back());
        std::vector<TokenId> got;
        for (const Ranked& one : found) got.push_back(one.token);
        EXPECT_THAT(got, ::testing::UnorderedElementsAreArray(want)) << count;
      }
    }
  }
}

}  // namespace
}  // namespace banyan::model
