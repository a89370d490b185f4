#include "loadtest/measure/record.h"

#include <gtest/gtest.h>

namespace banyan::loadtest {
namespace {

TEST(Record, EveryOutcomeHasANameOfItsOwn) {
  for (int i = 0; i < kOutcomes; ++i) {
    const auto outcome = static_cast<Outcome>(i);
    EXPECT_EQ(ParseOutcome(Name(outcome)), outcome);
  }
  EXPECT_EQ(ParseOutcome("nothing"), std::nullopt);
}

TEST(Record, TimePerTokenIsOverTheTokensAfterTheFirst) {
  Record record;
  record.first_content = Tick(100);
  record.last_content = Tick(500);
  record.content_events = 2;
  record.output_tokens = 5;
  EXPECT_EQ(record.tpot(), Tick(100));
  record.output_tokens = 1;
  EXPECT_EQ(record.tpot(), std::nullopt);
}

// Regression: it was 0, which is the best there is.
TEST(Record, AnAnswerInOneEventHasNoTimePerToken) {
  Record record;
  record.first_content = record.last_content = Tick(100);
  record.content_events = 1;
  record.output_tokens = 5;
  EXPECT_EQ(record.tpot(), std::nullopt);
  record.content_events = 2;  // which were read at once
  EXPECT_EQ(record.tpot(), Tick(0));
}

TEST(Record, WithoutUsageEventsAreCountedAsTokens) {
  Record record;
  record.content_events = 3;
  EXPECT_EQ(record.tokens(), 3);
  record.output_tokens = 7;
  EXPECT_EQ(record.tokens(), 7);
}

TEST(Record, AHitRateNeedsBothCounts) {
  Record record;
  EXPECT_EQ(record.hit_rate(), std::nullopt);
  record.prompt_tokens = 8;
  EXPECT_EQ(record.hit_rate(), std::nullopt);
  record.cached_tokens = 2;
  EXPECT_EQ(record.hit_rate(), 0.25);
}

}  // namespace
}  // namespace banyan::loadtest
