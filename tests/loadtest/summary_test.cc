// Every figure of a run, exact, on requests written by hand.
#include "loadtest/measure/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace banyan::loadtest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;

// Sent 1 ms after its time, first content 10 ms after that, 11 tokens 2 ms apart, over 1 ms after
// the last.
Record Good(Tick scheduled) {
  Record record;
  record.scheduled = scheduled;
  record.sent = scheduled + milliseconds(1);
  record.first_content = record.sent + milliseconds(10);
  record.last_content = *record.first_content + milliseconds(20);
  record.end = record.last_content + milliseconds(1);
  record.status = 200;
  record.content_events = 11;
  record.prompt_tokens = 100;
  record.cached_tokens = 40;
  record.output_tokens = 11;
  record.finish_reason = "length";
  return record;
}

Record Failed(Tick scheduled, Outcome outcome) {
  Record record;
  record.scheduled = scheduled;
  record.end = scheduled + milliseconds(5);
  record.outcome = outcome;
  return record;
}

Result Of(std::vector<Record> records) {
  Result result;
  result.duration = seconds(10);
  result.records = std::move(records);
  return result;
}

std::int64_t Ms(std::int64_t ms) { return Tick(milliseconds(ms)).count(); }

TEST(Summary, NothingIsNothing) {
  const Summary summary = Summarize(Result(), Slo());
  EXPECT_EQ(summary.requests(), 0);
  EXPECT_EQ(summary.requests_per_second, 0);
  EXPECT_EQ(summary.slo_share, 0);
  EXPECT_FALSE(summary.client_limited);
}

TEST(Summary, TimesAreFromTheDefinitions) {
  const Summary summary = Summarize(Of({Good(seconds(1))}), Slo());
  EXPECT_EQ(summary.all.requests, 1);
  EXPECT_EQ(summary.all.ttft.max(), Ms(10));
  EXPECT_EQ(summary.all.ttft_scheduled.max(), Ms(11));
  EXPECT_EQ(summary.all.tpot.max(), Ms(2));
  EXPECT_EQ(summary.all.latency.max(), Ms(31));
  EXPECT_EQ(summary.queueing.max(), Ms(1));
}

TEST(Summary, ATimePerTokenNeedsTwoTokens) {
  Record one = Good(seconds(1));
  one.output_tokens = 1;
  const Summary summary = Summarize(Of({one, Good(seconds(2))}), Slo());
  EXPECT_EQ(summary.all.tpot.count(), 1);
  EXPECT_EQ(summary.all.ttft.count(), 2);
}

TEST(Summary, RatesAreOverTheTimeAfterTheWarmUp) {
  Result result = Of({Good(seconds(1)), Good(seconds(2)), Good(seconds(3)), Good(seconds(9))});
  result.warm_up = seconds(2);
  const Summary summary = Summarize(result, Slo());
  EXPECT_EQ(summary.measured, Tick(seconds(8)));
  EXPECT_EQ(summary.all.requests, 3);
  EXPECT_EQ(summary.output_tokens, 33);
  EXPECT_DOUBLE_EQ(summary.requests_per_second, 3 / 8.0);
  EXPECT_DOUBLE_EQ(summary.tokens_per_second, 33 / 8.0);
  EXPECT_DOUBLE_EQ(summary.goodput, 3 / 8.0);
}

TEST(Summary, TheWarmUpEndsWithTheNanosecondBeforeIt) {
  Result result = Of({Good(seconds(2) - Tick(1)), Good(seconds(2))});
  result.warm_up = seconds(2);
  EXPECT_EQ(Summarize(result, Slo()).all.requests, 1);
}

TEST(Summary, ARunShorterThanItsWarmUpHasNoRates) {
  Result result = Of({Good(seconds(1))});
  result.warm_up = seconds(11);
  const Summary summary = Summarize(result, Slo());
  EXPECT_EQ(summary.measured, Tick(0));
  EXPECT_EQ(summary.requests_per_second, 0);
}

TEST(Summary, FailuresAreCountedByKindAndInNoDistribution) {
  std::vector<Record> records = {Good(seconds(1))};
  for (int i = 1; i < kOutcomes; ++i) {
    for (int n = 0; n < i; ++n) records.push_back(Failed(seconds(2), static_cast<Outcome>(i)));
  }
  const Summary summary = Summarize(Of(records), Slo());
  for (int i = 1; i < kOutcomes; ++i) EXPECT_EQ(summary.outcomes[i], i);
  EXPECT_EQ(summary.outcomes[0], 1);
  EXPECT_EQ(summary.failed(), kOutcomes * (kOutcomes - 1) / 2);
  EXPECT_EQ(summary.requests(), summary.failed() + 1);
  EXPECT_EQ(summary.all.requests, 1);
  EXPECT_EQ(summary.all.latency.count(), 1);
}

TEST(Summary, RequestsThatCouldNotBeSentAreNotTakenForThoseOfTheWarmUp) {
  // No connection, at once or after a time.
  Result result =
      Of({Failed(seconds(5), Outcome::kRefused), Failed(seconds(5), Outcome::kTimeout)});
  result.warm_up = seconds(2);
  const Summary summary = Summarize(result, Slo());
  EXPECT_EQ(summary.failed(), 2);
  EXPECT_EQ(summary.queueing.count(), 0) << "they waited for nothing that came";
}

TEST(Summary, GoodputIsOfAllRequestsFailedOnesToo) {
  Slo slo;
  slo.ttft = milliseconds(11);
  Record late = Good(seconds(3));
  late.scheduled -= Tick(1);
  const Summary summary = Summarize(
      Of({Good(seconds(1)), Good(seconds(2)), late, Failed(seconds(4), Outcome::kReset)}), slo);
  EXPECT_DOUBLE_EQ(summary.goodput, 2 / 10.0);
  EXPECT_DOUBLE_EQ(summary.slo_share, 2 / 4.0);
  EXPECT_DOUBLE_EQ(summary.requests_per_second, 3 / 10.0);
}

TEST(Summary, GroupsByTurnAndTheLastHoldsLaterTurns) {
  std::vector<Record> records;
  for (const std::int32_t turn : {1, 1, 2, kLastTurnGroup, kLastTurnGroup + 1, 900}) {
    records.push_back(Good(seconds(1)));
    records.back().turn = turn;
  }
  const Summary summary = Summarize(Of(records), Slo());
  ASSERT_EQ(summary.by_turn.size(), 3);
  EXPECT_EQ(summary.by_turn.at(1).requests, 2);
  EXPECT_EQ(summary.by_turn.at(2).requests, 1);
  EXPECT_EQ(summary.by_turn.at(kLastTurnGroup).requests, 3);
}

TEST(Summary, GroupsByHitRateOpenBelowAndClosedAbove) {
  std::vector<Record> records;
  for (const std::int64_t cached : {0, 1, 25, 26, 50, 75, 76, 100, -1}) {
    records.push_back(Good(seconds(1)));
    records.back().cached_tokens = cached;
  }
  const Summary summary = Summarize(Of(records), Slo());
  const std::vector<std::int64_t> wanted = {1, 2, 2, 1, 2};
  for (int i = 0; i < kHitBuckets; ++i) EXPECT_EQ(summary.by_hit_rate[i].requests, wanted[i]) << i;
  // The one that told nothing is in no bucket and in no sum.
  EXPECT_EQ(summary.all.prompt_tokens, 800);
  EXPECT_EQ(summary.all.cached_tokens, 0 + 1 + 25 + 26 + 50 + 75 + 76 + 100);
  EXPECT_DOUBLE_EQ(summary.all.hit_rate().value(), 353 / 800.0);
  EXPECT_EQ(Group().hit_rate(), std::nullopt);
}

TEST(Summary, SaysWhenTokensAreOnlyEvents) {
  EXPECT_FALSE(Summarize(Of({Good(seconds(1))}), Slo()).usage_missing);
  Record silent = Good(seconds(1));
  silent.output_tokens = -1;
  silent.content_events = 7;
  const Summary summary = Summarize(Of({silent}), Slo());
  EXPECT_TRUE(summary.usage_missing);
  EXPECT_EQ(summary.output_tokens, 7);
}

TEST(Summary, TheClientIsTheLimitAboveItsBoundsAndNotAtThem) {
  Result result = Of({});
  result.client.cpu_share = kClientCpuLimit;
  result.client.lag.Record(Tick(kClientLagLimit).count());
  EXPECT_FALSE(Summarize(result, Slo()).client_limited);
  result.client.cpu_share = kClientCpuLimit + 0.001;
  EXPECT_TRUE(Summarize(result, Slo()).client_limited);
  result.client.cpu_share = 0;
  result.client.lag.Record(Tick(kClientLagLimit).count() + 1);
  EXPECT_TRUE(Summarize(result, Slo()).client_limited);
}

TEST(Summary, AnAnswerThatBeginsBeforeItsRequestIsSentTookNoTime) {
  Record early = Good(seconds(1));
  early.sent = *early.first_content + milliseconds(1);
  const Summary summary = Summarize(Of({early}), Slo());
  EXPECT_EQ(summary.all.ttft.max(), 0);
  EXPECT_EQ(summary.all.ttft_scheduled.max(), Ms(11));
}

TEST(Slo, LimitsAreKeptAtTheirBound) {
  const Record record = Good(seconds(1));
  const std::pair<std::optional<Tick> Slo::*, Tick> takes[] = {{&Slo::ttft, milliseconds(11)},
                                                               {&Slo::itl, milliseconds(2)},
                                                               {&Slo::latency, milliseconds(32)}};
  EXPECT_TRUE(Slo().Keeps(record));
  Slo all;
  for (const auto& [limit, time] : takes) {
    Slo slo;
    slo.*limit = time;
    all.*limit = time;
    EXPECT_TRUE(slo.Keeps(record));
    slo.*limit = time - Tick(1);
    EXPECT_FALSE(slo.Keeps(record));
  }
  EXPECT_TRUE(all.Keeps(record));
  all.itl = Tick(1);
  EXPECT_FALSE(all.Keeps(record));
}

TEST(Slo, AnAnswerOfOneTokenBreaksNoLimitBetweenTokens) {
  Record one = Good(seconds(1));
  one.output_tokens = 1;
  Slo slo;
  slo.itl = Tick(1);
  EXPECT_TRUE(slo.Keeps(one));
}

TEST(Slo, FailedRequestsKeepNone) {
  EXPECT_FALSE(Slo().Keeps(Failed(seconds(1), Outcome::kTimeout)));
}

TEST(Slo, IsReadAndWritten) {
  const auto slo = ParseSlo("ttft=500ms,itl=1.5ms,e2e=1m30s");
  ASSERT_TRUE(slo.ok()) << slo.status();
  EXPECT_EQ(slo->ttft, Tick(milliseconds(500)));
  EXPECT_EQ(slo->itl, Tick(std::chrono::microseconds(1500)));
  EXPECT_EQ(slo->latency, Tick(seconds(90)));
  EXPECT_EQ(Text(*slo), "ttft=500ms,itl=1.5ms,e2e=1m30s");
  EXPECT_EQ(ParseSlo("e2e=24h")->latency, Tick(std::chrono::hours(24)));
  EXPECT_FALSE(ParseSlo("e2e=24h")->ttft);
  EXPECT_EQ(Text(Slo()), "");
}

TEST(Slo, SaysWhichPartIsWrong) {
  const auto why = [](std::string_view text) {
    return std::string(ParseSlo(text).status().message());
  };
  EXPECT_THAT(why(""), HasSubstr("''"));
  EXPECT_THAT(why("ttft=1s,tps=3"), HasSubstr("'tps=3'"));
  EXPECT_THAT(why("ttft=500"), HasSubstr("'500'"));
  EXPECT_THAT(why("itl="), HasSubstr("itl wants a time"));
  EXPECT_THAT(why("itl"), HasSubstr("itl wants a time"));
  EXPECT_THAT(why("itl=0s"), HasSubstr("'0s'"));
  EXPECT_THAT(why("e2e=-1s"), HasSubstr("'-1s'"));
  EXPECT_THAT(why("e2e=86401s"), HasSubstr("up to 24h"));
  EXPECT_THAT(why("e2e=inf"), HasSubstr("'inf'"));
  EXPECT_THAT(why("ttft=1s,ttft=2s"), HasSubstr("twice"));
}

}  // namespace
}  // namespace banyan::loadtest
