#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(TokenGaps, AnEventPerTokenHasAGapEach) {
  EXPECT_THAT(Gaps({{Tick(10), 3}, {Tick(20), 3}, {Tick(50), 3}}, 3),
              ElementsAre(Gap(10, 1), Gap(30, 1)));
}

TEST(TokenGaps, WithoutUsageAnEventIsAToken) {
  EXPECT_THAT(Gaps({{Tick(10), 3}, {Tick(20), 9}}, -1), ElementsAre(Gap(10, 1)));
  EXPECT_THAT(Gaps({{Tick(10), 3}, {Tick(20), 9}}, 0), ElementsAre(Gap(10, 1)));
}

TEST(TokenGaps, FurtherTokensAreGivenByTheLengthOfTheText) {
  // 8 tokens in 3 events: 5 to give, by 4, 8 and 8 bytes: 1, 2, 2.
  EXPECT_THAT(Gaps({{Tick(0), 4}, {Tick(300), 8}, {Tick(360), 8}}, 8),
              ElementsAre(Gap(100, 3), Gap(20, 3)));
}

TEST(TokenGaps, TheFirstEventHasNone) {
  EXPECT_TRUE(Gaps({{Tick(10), 100}}, 50).empty());
  EXPECT_TRUE(Gaps({}, 50).empty());
}

TEST(TokenGaps, FewerTokensThanEventsAreOneEach) {
  EXPECT_THAT(Gaps({{Tick(0), 1}, {Tick(5), 1}, {Tick(9), 1}}, 2),
              ElementsAre(Gap(5, 1), Gap(4, 1)));
}

TEST(TokenGaps, AllTokensButThoseOfTheFirstEventAreCounted) {
  std::vector<ContentEvent> events;
  for (int i = 0; i < 97; ++i) events.push_back({Tick(i * 1000), 1 + i % 7});
  for (std::int64_t tokens = 97; tokens < 400; ++tokens) {
    std::int64_t counted = 0;
    for (const auto& [gap, times] : Gaps(events, tokens)) counted += times;
    // The first has a byte of 388: at most one token more than its own.
    ASSERT_GE(counted, tokens - 2);
    ASSERT_LE(counted, tokens - 1);
  }
}

TEST(TokenGaps, LargeCountsDoNotOverflow) {
  const std::int64_t tokens = std::int64_t{1} << 60;
  const std::vector<Gap> gaps = Gaps({{Tick(0), 1 << 30}, {Tick(1000), 1 << 30}}, tokens);
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].first, 0);
  EXPECT_NEAR(static_cast<double>(gaps[0].second), static_cast<double>(tokens) / 2, 1e6);
}

}  // namespace
}  // namespace banyan::loadtest
