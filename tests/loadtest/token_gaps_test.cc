#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "loadtest/client/answer_reader.h"

namespace banyan::loadtest {
namespace {

using ::testing::ElementsAre;
using Gap = std::pair<std::int64_t, std::int64_t>;

std::vector<Gap> Gaps(const std::vector<ContentEvent>& events, std::int64_t tokens) {
  std::vector<Gap> gaps;
  TokenGaps(events, tokens,
            [&gaps](std::int64_t gap, std::int64_t times) { gaps.emplace_back(gap, times); });
  return gaps;
}

// Of events with so many bytes each.
std::vector<std::int64_t> Shares(const std::vector<std::int32_t>& bytes, std::int64_t tokens) {
  std::vector<ContentEvent> events;
  for (const std::int32_t length : bytes) events.push_back({Tick(0), length});
  std::vector<std::int64_t> shares;
  ShareTokens(events, tokens, [&shares](std::size_t event, std::int64_t share) {
    EXPECT_EQ(event, shares.size());
    shares.push_back(share);
  });
  return shares;
}

TEST(TokenGaps, AnEventPerTokenHasAGapEach) {
  EXPECT_THAT(Gaps({{Tick(10), 3}, {Tick(20), 3}, {Tick(50), 3}}, 3),
              ElementsAre(Gap(10, 1), Gap(30, 1)));
}

TEST(TokenGaps, WithoutUsageAnEventIsAToken) {
  EXPECT_THAT(Gaps({{Tick(10), 3}, {Tick(20), 9}}, -1), ElementsAre(Gap(10, 1)));
  EXPECT_THAT(Gaps({{Tick(10), 3}, {Tick(20), 9}}, 0), ElementsAre(Gap(10, 1)));
}

TEST(TokenGaps, FurtherTokensAreGivenByTheLengthOfTheText) {
  // 8 tokens in 3 events of 4, 8 and 8 bytes: 2, 3 and 3.
  EXPECT_THAT(Gaps({{Tick(0), 4}, {Tick(300), 8}, {Tick(360), 8}}, 8),
              ElementsAre(Gap(100, 3), Gap(20, 3)));
}

TEST(TokenGaps, ALongTokenIsNotTakenForABundle) {
  // Tokens of 9, 2, 3 and 2 bytes alone, then three of 4 together.
  EXPECT_THAT(Shares({9, 2, 3, 2, 12}, 5), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(Shares({4, 4, 4, 4, 12}, 7), ElementsAre(1, 1, 1, 1, 3));
}

TEST(TokenGaps, BundlesOfEqualTokensAreToldExactly) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::int64_t> bundles(1 + random() % 40);
    std::vector<std::int32_t> bytes;
    const auto length = static_cast<std::int32_t>(1 + random() % 9);
    std::int64_t tokens = 0;
    for (std::int64_t& bundle : bundles) {
      bundle = 1 + random() % (i % 2 == 0 ? 9 : 1000);
      bytes.push_back(length * static_cast<std::int32_t>(bundle));
      tokens += bundle;
    }
    ASSERT_EQ(Shares(bytes, tokens), bundles) << i;
  }
}

TEST(TokenGaps, AmongEqualsTheEarlierComesFirst) {
  EXPECT_THAT(Shares({6, 6, 6}, 5), ElementsAre(2, 2, 1));
}

TEST(TokenGaps, TheFirstEventHasNone) {
  EXPECT_TRUE(Gaps({{Tick(10), 100}}, 50).empty());
  EXPECT_TRUE(Gaps({}, 50).empty());
}

TEST(TokenGaps, FewerTokensThanEventsAreOneEach) {
  EXPECT_THAT(Gaps({{Tick(0), 1}, {Tick(5), 1}, {Tick(9), 1}}, 2),
              ElementsAre(Gap(5, 1), Gap(4, 1)));
}

TEST(TokenGaps, NoTokenIsLostOrCountedTwice) {
  std::vector<std::int32_t> bytes;
  for (int i = 0; i < 97; ++i) bytes.push_back(1 + i % 7);
  for (std::int64_t tokens = 97; tokens < 1000; ++tokens) {
    const std::vector<std::int64_t> shares = Shares(bytes, tokens);
    ASSERT_EQ(std::accumulate(shares.begin(), shares.end(), std::int64_t{0}), tokens);
    ASSERT_GE(*std::min_element(shares.begin(), shares.end()), 1);
  }
}

TEST(TokenGaps, CountsThatNoAnswerHasDoNotOverflow) {
  for (const std::int64_t tokens :
       {std::int64_t{1} << 49, std::int64_t{1} << 50, (std::int64_t{1} << 50) + 1,
        std::numeric_limits<std::int64_t>::max()}) {
    const std::vector<std::int64_t> shares = Shares({1 << 30, 1 << 30}, tokens);
    const std::int64_t bounded = std::min(tokens, std::int64_t{1} << 50);
    EXPECT_EQ(shares[0] + shares[1], bounded);
    EXPECT_LE(shares[0] - shares[1], 1);
  }
}

}  // namespace
}  // namespace banyan::loadtest
