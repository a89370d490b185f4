#include "loadtest/run/sweep.h"

#include <gtest/gtest.h>

#include <set>

#include "absl/strings/str_cat.h"

namespace banyan::loadtest {
namespace {

SweepStep Step(double tokens, double goodput = 0, double share = 1) {
  SweepStep step;
  step.summary.tokens_per_second = tokens;
  step.summary.goodput = goodput;
  step.summary.slo_share = share;
  return step;
}

TEST(Sweep, IsReadFromItsLoads) {
  const auto sweep = ParseSweep("concurrency=1,2,8");
  ASSERT_TRUE(sweep.ok());
  EXPECT_EQ(sweep->over, Sweep::Over::kConcurrency);
  EXPECT_EQ(sweep->loads, (std::vector<double>{1, 2, 8}));
  const auto rates = ParseSweep("rate=0.5,3");
  ASSERT_TRUE(rates.ok());
  EXPECT_EQ(rates->over, Sweep::Over::kRate);
  EXPECT_EQ(rates->loads, (std::vector<double>{0.5, 3}));
}

TEST(Sweep, OtherTextIsRefused) {
  for (const char* text : {"", "concurrency", "concurrency=", "speed=1", "concurrency=1,,2",
                           "concurrency=0", "concurrency=1.5", "concurrency=2,1", "rate=1,1",
                           "rate=-1", "rate=x", "rate=inf", "rate=nan"}) {
    EXPECT_FALSE(ParseSweep(text).ok()) << text;
  }
}

TEST(Sweep, HasABoundOfSteps) {
  std::string text = "rate=1";
  for (std::size_t i = 2; i < kMaxSweepSteps; ++i) absl::StrAppend(&text, ",", i);
  EXPECT_TRUE(ParseSweep(text).ok());
  absl::StrAppend(&text, ",", 1000);
  EXPECT_TRUE(ParseSweep(text).ok());
  absl::StrAppend(&text, ",", 1001);
  EXPECT_FALSE(ParseSweep(text).ok());
}

TEST(Sweep, GoesOnWhileItPays) {
  const Slo none;
  EXPECT_EQ(KneeReason({}, none), "");
  EXPECT_EQ(KneeReason({Step(100)}, none), "");
  EXPECT_EQ(KneeReason({Step(100), Step(106)}, none), "");
  EXPECT_NE(KneeReason({Step(100), Step(104)}, none), "");
  EXPECT_NE(KneeReason({Step(100), Step(50), Step(80)}, none), "") << "the best before it counts";
  EXPECT_EQ(KneeReason({Step(0), Step(0)}, none), "");
}

TEST(Sweep, WithLimitsGoodputCounts) {
  Slo slo;
  slo.ttft = Tick(1);
  EXPECT_EQ(KneeReason({Step(100, 10), Step(100, 20)}, slo), "");
  EXPECT_NE(KneeReason({Step(100, 10), Step(200, 10)}, slo), "");
  EXPECT_EQ(KneeReason({Step(100, 10, 0.9)}, slo), "");
  EXPECT_NE(KneeReason({Step(100, 10, 0.89)}, slo), "");
}

TEST(Sweep, ATableHasALinePerStep) {
  const std::string table = SweepTable(Sweep::Over::kRate, {Step(100), Step(200)}, Slo());
  EXPECT_EQ(std::count(table.begin(), table.end(), '\n'), 3);
  EXPECT_NE(table.find("rate"), std::string::npos);
}

TEST(Sweep, ATablesTimesAreFromScheduledAndWhatIsNotKnownIsADash) {
  SweepStep late = Step(100);
  late.summary.all.ttft.Record(Tick(std::chrono::milliseconds(3)).count());
  late.summary.all.ttft_scheduled.Record(Tick(std::chrono::milliseconds(70)).count());
  const std::string table = SweepTable(Sweep::Over::kRate, {late, Step(0)}, Slo());
  EXPECT_NE(table.find("    70.0 ms    70.0 ms       -\n"), std::string::npos) << table;
  EXPECT_NE(table.find("          -          -       -\n"), std::string::npos) << table;
}

TEST(Salt, ChangesEveryKeyAndKeepsWhatIsShared) {
  Workload workload;
  Turn turn;
  turn.messages.resize(1);
  turn.messages[0].segments = {{1, 16}, {2, 16}, {1, 16}};
  workload.conversations.push_back({"c", {turn}});
  std::set<std::uint64_t> keys;
  for (std::uint64_t salt = 0; salt < 100; ++salt) {
    Workload salted = workload;
    Salt(salt, salted);
    const auto& segments = salted.conversations[0].turns[0].messages[0].segments;
    EXPECT_EQ(segments[0].key, segments[2].key);
    EXPECT_EQ(segments[0].key == 1, salt == 0);
    keys.insert(segments[0].key);
    keys.insert(segments[1].key);
  }
  EXPECT_EQ(keys.size(), 200u);
}

}  // namespace
}  // namespace banyan::loadtest
