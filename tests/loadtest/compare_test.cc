#include "loadtest/report/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "absl/strings/str_split.h"
#include "tests/loadtest/synthetic.h"

namespace banyan::loadtest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

Ratio Named(const std::vector<Ratio>& ratios, const std::string& name) {
  const auto found = std::find_if(ratios.begin(), ratios.end(),
                                  [&](const Ratio& ratio) { return ratio.name == name; });
  EXPECT_NE(found, ratios.end()) << name;
  return found == ratios.end() ? Ratio() : *found;
}

// `count` conversations of one answer each; the i-th has its first token after (i + 1) x `unit`.
Report Plain(int count, Tick unit, const std::string& workload) {
  Report report;
  report.result.facts = {{"workload", workload}};
  report.result.duration = std::chrono::seconds(10);
  for (int i = 0; i < count; ++i) {
    Record record;
    record.conversation = i;
    record.first_content = (i + 1) * unit;
    record.last_content = record.end = *record.first_content + 9 * unit;
    record.content_events = record.output_tokens = 10;
    record.prompt_tokens = 100;
    record.cached_tokens = 50;
    report.result.records.push_back(record);
  }
  return report;
}

TEST(Compare, RatiosAreOfTheExactFigures) {
  Report a = Plain(100, std::chrono::milliseconds(2), "w");
  Report b = Plain(100, std::chrono::milliseconds(3), "w");
  b.result.duration = std::chrono::seconds(20);
  a.result.inter_token.Record(1000, 10);
  b.result.inter_token.Record(500, 10);
  const std::vector<Ratio> ratios = Compare(a, b, 1, 100);
  const Ratio p99 = Named(ratios, "TTFT p99");
  EXPECT_DOUBLE_EQ(p99.a, 0.198);
  EXPECT_DOUBLE_EQ(p99.b, 0.297);
  EXPECT_DOUBLE_EQ(p99.ratio, 1.5);
  EXPECT_DOUBLE_EQ(Named(ratios, "TTFT p50").a, 0.1);
  EXPECT_DOUBLE_EQ(Named(ratios, "TPOT p50").b, 0.003);
  EXPECT_DOUBLE_EQ(Named(ratios, "answers/s").ratio, 0.5);
  EXPECT_DOUBLE_EQ(Named(ratios, "output tokens/s").a, 100);
  EXPECT_DOUBLE_EQ(Named(ratios, "prompt cached").a, 0.5);
  EXPECT_DOUBLE_EQ(Named(ratios, "ITL p50").ratio, 0.5);
  EXPECT_TRUE(std::isnan(Named(ratios, "ITL p50").low));
  // The same conversations are drawn on both sides, so every draw has the ratio that all have.
  EXPECT_DOUBLE_EQ(p99.low, 1.5);
  EXPECT_DOUBLE_EQ(p99.high, 1.5);
  EXPECT_TRUE(p99.clear());
  EXPECT_FALSE(p99.better());
}

TEST(Compare, ARunIsAsGoodAsItself) {
  const Report a = Synthetic({});
  for (const Ratio& ratio : Compare(a, a, 1, 200)) {
    EXPECT_DOUBLE_EQ(ratio.ratio, 1) << ratio.name;
    EXPECT_FALSE(ratio.clear()) << ratio.name;
  }
}

TEST(Compare, OtherWorkloadsAreDrawnApartAndTheirIntervalsAreAroundOne) {
  const Report a = Plain(200, std::chrono::milliseconds(2), "one");
  const Report b = Plain(200, std::chrono::milliseconds(2), "other");
  const Ratio p50 = Named(Compare(a, b, 1, 500), "TTFT p50");
  EXPECT_DOUBLE_EQ(p50.ratio, 1);
  EXPECT_LT(p50.low, 0.95);
  EXPECT_GT(p50.low, 0.6);
  EXPECT_GT(p50.high, 1.05);
  EXPECT_LT(p50.high, 1.6);
}

TEST(Compare, TurnsOfAConversationAreDrawnTogether) {
  // 10 conversations of 20 equal turns say as much as 10 requests, not as 200.
  Report few = Plain(10, std::chrono::milliseconds(2), "few");
  const Report one = Plain(10, std::chrono::milliseconds(2), "one");
  std::vector<Record> turns;
  for (const Record& record : few.result.records) turns.insert(turns.end(), 20, record);
  few.result.records = turns;
  const Ratio together = Named(Compare(few, one, 1, 500), "TTFT p50");
  EXPECT_LT(together.low, 0.75);
  EXPECT_GT(together.high, 1.3);
}

TEST(Compare, TheSameSeedDrawsTheSame) {
  const Report a = Plain(50, std::chrono::milliseconds(2), "one");
  const Report b = Plain(60, std::chrono::milliseconds(3), "other");
  const auto low = [&](std::uint64_t seed) {
    return Named(Compare(a, b, seed, 100), "TTFT p90").low;
  };
  EXPECT_EQ(low(1), low(1));
  EXPECT_NE(low(1), low(2));
}

// Regression: it was one point, so that every difference was clear.
TEST(Compare, ARateHasAnIntervalWhenEverythingWasAnswered) {
  const Report a = Plain(190, std::chrono::milliseconds(50), "w");
  Report b = a;
  b.result.duration = std::chrono::milliseconds(10'100);
  for (const char* name : {"answers/s", "output tokens/s"}) {
    const Ratio ratio = Named(Compare(a, b, 1, 500), name);
    EXPECT_NEAR(ratio.ratio, 0.99, 0.001) << name;
    EXPECT_LT(ratio.low, 0.989) << name;
    EXPECT_GT(ratio.high, 1) << name;
    EXPECT_GT(ratio.low, 0.85) << name;
    EXPECT_LT(ratio.high, 1.15) << name;
  }
  Report half = Plain(190, std::chrono::milliseconds(100), "w");
  half.result.duration = std::chrono::seconds(20);
  const Ratio slower = Named(Compare(a, half, 1, 500), "answers/s");
  EXPECT_DOUBLE_EQ(slower.ratio, 0.5);
  EXPECT_TRUE(slower.clear());
  EXPECT_FALSE(slower.better());
}

TEST(Compare, ARateOfOtherWorkloadsVariesAsItsAnswersCame) {
  const Report even = Plain(190, std::chrono::milliseconds(50), "even");
  Report rush = even;  // as many, at two moments
  rush.result.facts = {{"workload", "rush"}};
  for (std::size_t i = 0; i < rush.result.records.size(); ++i)
    rush.result.records[i].end = std::chrono::seconds(i % 2 == 0 ? 2 : 8);
  const Ratio same = Named(Compare(even, even, 1, 500), "answers/s");
  const Ratio other = Named(Compare(even, rush, 1, 500), "answers/s");
  EXPECT_DOUBLE_EQ(other.ratio, 1);
  EXPECT_DOUBLE_EQ(same.high - same.low, 0);
  EXPECT_LT(other.low, 0.5);
  EXPECT_GT(other.high, 1.5);
}

// Regression: no failure at all was clearly better than a single one.
TEST(Compare, NoFailureIsClearlyBetterThanSix) {
  const Report none = Plain(100, std::chrono::milliseconds(2), "w");
  const auto failed = [&](std::size_t count) {
    Report report = none;
    for (std::size_t i = 0; i < count; ++i)
      report.result.records[10 * i].outcome = Outcome::kTimeout;
    return Named(Compare(report, none, 1, 500), "failed");
  };
  EXPECT_EQ(failed(1).ratio, 0);
  EXPECT_EQ(failed(1).low, 0);
  EXPECT_NEAR(failed(1).high, 39, 1e-9);
  EXPECT_FALSE(failed(5).clear());
  EXPECT_TRUE(failed(6).clear());
  EXPECT_TRUE(failed(6).better());
}

TEST(Compare, WhatCannotBeToldIsNotANumber) {
  const Report one = Plain(1, std::chrono::milliseconds(2), "w");
  const Report two = Plain(2, std::chrono::milliseconds(2), "w");
  const Report none = Plain(0, std::chrono::milliseconds(2), "w");
  EXPECT_TRUE(std::isnan(Named(Compare(one, one, 1, 50), "TTFT p50").low));
  EXPECT_FALSE(std::isnan(Named(Compare(two, two, 1, 50), "TTFT p50").low));
  EXPECT_TRUE(std::isnan(Named(Compare(none, two, 1, 50), "TTFT p50").ratio));
  EXPECT_TRUE(std::isnan(Named(Compare(one, one, 1, 50), "failed").ratio));
  EXPECT_THAT(CompareTable(none, none, Compare(none, none, 1, 50)), Not(HasSubstr("nan")));
  EXPECT_THAT(CompareJson(none, none, Compare(none, none, 1, 50)), HasSubstr("null"));
}

TEST(Compare, GoodputIsByTheFirstsLimits) {
  Report a = Plain(10, std::chrono::milliseconds(2), "w");
  const Report b = a;
  const auto names = [](const std::vector<Ratio>& ratios) {
    return std::any_of(ratios.begin(), ratios.end(),
                       [](const Ratio& ratio) { return ratio.name == "goodput"; });
  };
  EXPECT_FALSE(names(Compare(a, b, 1, 10)));
  a.slo.ttft = std::chrono::milliseconds(10);
  EXPECT_DOUBLE_EQ(Named(Compare(a, b, 1, 10), "goodput").b, 0.5);
  EXPECT_DOUBLE_EQ(Named(Compare(b, a, 1, 10), "goodput").a, 0.5);
}

TEST(Compare, TheWarmUpCountsForNothing) {
  Report a = Plain(10, std::chrono::milliseconds(2), "w");
  Report b = a;
  for (int i = 0; i < 5; ++i) {
    b.result.records.push_back(b.result.records.front());
    b.result.records.back().outcome = Outcome::kReset;
  }
  a.result.warm_up = b.result.warm_up = std::chrono::seconds(1);
  for (Report* report : {&a, &b}) {
    for (int i = 0; i < 10; ++i) report->result.records[i].scheduled = std::chrono::seconds(2);
  }
  EXPECT_EQ(Named(Compare(a, b, 1, 10), "failed").b, 0);
}

TEST(Differences, NameTheFactsThatShouldBeEqual) {
  Report a = Plain(1, Tick(1), "one");
  Report b = Plain(1, Tick(1), "other");
  a.result.facts.emplace_back("target", "here");
  b.result.facts.emplace_back("target", "there");
  EXPECT_THAT(Differences(a, b), ElementsAre("The runs differ in workload: 'one' and 'other'."));
  EXPECT_THAT(Differences(a, a), IsEmpty());
  b = a;
  b.slo.ttft = std::chrono::seconds(1);
  b.result.client.cpu_share = 1;
  b.result.interrupted = true;
  EXPECT_THAT(Differences(a, b), ElementsAre(HasSubstr("'ttft=1s'"), HasSubstr("bottleneck in B"),
                                             HasSubstr("B was interrupted")));
}

TEST(Differences, SayWhenTimesAreThoseOfTheRequestsThatWereLeft) {
  Report a = Plain(1, Tick(1), "one");
  a.result.records.assign(100, a.result.records.front());
  const Report b = a;
  a.result.records[0].outcome = Outcome::kTimeout;
  EXPECT_THAT(Differences(a, b), IsEmpty()) << "one of a hundred";
  a.result.records[1].outcome = Outcome::kReset;
  EXPECT_THAT(Differences(a, b),
              ElementsAre("In A 2 of 100 requests failed: its times are those of the others."));
}

TEST(CompareTable, FitsATerminal) {
  Report a = Synthetic({});
  Report b = Plain(3, std::chrono::hours(1), std::string(200, 'w'));
  a.result.facts.emplace_back("report", std::string(300, 'x'));
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(CompareTable(a, b, Compare(a, b, 1, 50)), '\n'))) {
    EXPECT_LE(line.size(), 100) << line;
  }
}

}  // namespace
}  // namespace banyan::loadtest
