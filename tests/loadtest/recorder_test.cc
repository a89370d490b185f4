#include "loadtest/run/recorder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace banyan::loadtest {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Record Ok(Tick sent, Tick first, Tick end) {
  Record record;
  record.scheduled = record.sent = sent;
  record.first_content = first;
  record.last_content = record.end = end;
  record.content_events = 2;
  return record;
}

Record Failed(Tick sent, Tick end) {
  Record record;
  record.outcome = Outcome::kReset;
  record.sent = sent;
  record.end = end;
  return record;
}

TEST(Recorder, SecondsHoldWhatHappenedInThem) {
  Recorder recorder(Tick(0), 3);
  recorder.Sent(milliseconds(100));
  recorder.Sent(milliseconds(999));
  recorder.Content(milliseconds(1000));
  recorder.Content(milliseconds(3500));
  recorder.Ended(Ok(milliseconds(100), milliseconds(1000), milliseconds(3500)), {});
  recorder.Ended(Failed(milliseconds(999), milliseconds(3600)), {});
  const Result result = recorder.Finish(milliseconds(3700));
  ASSERT_EQ(result.timeline.size(), 4u);
  EXPECT_EQ(result.timeline[0].sent, 2);
  EXPECT_EQ(result.timeline[0].in_flight, 2);
  EXPECT_EQ(result.timeline[1].tokens, 1);
  EXPECT_EQ(result.timeline[2].tokens, 0);
  EXPECT_EQ(result.timeline[2].in_flight, 2);
  EXPECT_EQ(result.timeline[3].tokens, 1);
  EXPECT_EQ(result.timeline[3].finished, 1);
  EXPECT_EQ(result.timeline[3].failed, 1);
  EXPECT_EQ(result.timeline[3].in_flight, 0);
  EXPECT_EQ(result.duration, Tick(milliseconds(3700)));
  EXPECT_EQ(result.records.size(), 2u);
}

TEST(Recorder, ARunOfWholeSecondsHasNoEmptySecondMore) {
  Recorder recorder(Tick(0), 1);
  recorder.Sent(Tick(0));
  recorder.Ended(Ok(Tick(0), Tick(1), Tick(2)), {});
  EXPECT_EQ(recorder.Finish(seconds(2)).timeline.size(), 2u);
}

TEST(Recorder, GapsCountWhenTheRequestWasSentAfterTheWarmUp) {
  const std::vector<ContentEvent> events = {{Tick(110), 1}, {Tick(150), 1}};
  for (const int sent : {99, 100, 101}) {
    Recorder recorder(Tick(100), 1);
    recorder.Sent(Tick(sent));
    recorder.Ended(Ok(Tick(sent), Tick(110), Tick(150)), events);
    const Result result = recorder.Finish(Tick(200));
    EXPECT_EQ(result.inter_token.count(), sent < 100 ? 0 : 1) << sent;
    EXPECT_EQ(result.inter_token.max(), sent < 100 ? 0 : 40) << sent;
    EXPECT_EQ(result.records.size(), 1u) << "it is kept all the same";
  }
}

TEST(Recorder, GapsOfAnswersThatFailedAreLeftOut) {
  Recorder recorder(Tick(0), 1);
  recorder.Sent(Tick(0));
  recorder.Ended(Failed(Tick(0), Tick(9)), {{Tick(1), 1}, {Tick(5), 1}});
  EXPECT_EQ(recorder.Finish(Tick(10)).inter_token.count(), 0);
}

TEST(Recorder, TokensThatCameTogetherAreOfTheirSecond) {
  Recorder recorder(Tick(0), 1);
  recorder.Sent(Tick(0));
  recorder.Content(milliseconds(500));
  recorder.Content(milliseconds(1500));
  Record record = Ok(Tick(0), milliseconds(500), milliseconds(2500));
  record.output_tokens = 7;
  recorder.Ended(record, {{milliseconds(500), 10}, {milliseconds(1500), 60}});
  EXPECT_EQ(recorder.Report(milliseconds(3500)).tokens_per_second, 2);
  const Result result = recorder.Finish(milliseconds(3500));
  ASSERT_EQ(result.timeline.size(), 4u);
  EXPECT_EQ(result.timeline[0].tokens, 1);
  EXPECT_EQ(result.timeline[1].tokens, 6);
  EXPECT_EQ(result.timeline[2].tokens, 0);
}

TEST(Recorder, AReportIsOfTheTimeSinceTheLast) {
  Recorder recorder(Tick(0), 5);
  recorder.Sent(Tick(0));
  recorder.Sent(Tick(0));
  Record first = Ok(Tick(0), milliseconds(250), milliseconds(400));
  first.prompt_tokens = 100;
  first.cached_tokens = 25;
  recorder.Content(milliseconds(250));
  recorder.Ended(first, {});
  Progress progress = recorder.Report(milliseconds(500));
  EXPECT_EQ(progress.sent, 2);
  EXPECT_EQ(progress.finished, 1);
  EXPECT_EQ(progress.in_flight, 1);
  EXPECT_EQ(progress.planned, 5);
  EXPECT_EQ(progress.rate, 2);
  EXPECT_EQ(progress.tokens_per_second, 2);
  EXPECT_EQ(progress.hit_rate, 0.25);
  EXPECT_NEAR(Seconds(progress.ttft_p50), 0.25, 0.001);

  recorder.Ended(Failed(Tick(0), milliseconds(600)), {});
  progress = recorder.Report(milliseconds(1500));
  EXPECT_EQ(progress.finished, 1);
  EXPECT_EQ(progress.failed, 1);
  EXPECT_EQ(progress.in_flight, 0);
  EXPECT_EQ(progress.rate, 1);
  EXPECT_EQ(progress.ttft_p99, Tick(0)) << "there was none";
  EXPECT_TRUE(std::isnan(progress.hit_rate));
}

TEST(Recorder, TheClientsLagIsThatOfEveryRequest) {
  Recorder recorder(seconds(1), 2);
  Record record = Failed(Tick(0), Tick(9));
  record.client_delay = Tick(700);
  recorder.Sent(Tick(0));
  recorder.Ended(record, {});
  const Result result = recorder.Finish(Tick(10));
  EXPECT_EQ(result.client.lag.count(), 1);
  EXPECT_EQ(result.client.lag.max(), 700);
}

TEST(Recorder, ATimelineHasABound) {
  const auto most = static_cast<std::int64_t>(Recorder::kMaxSeconds);
  for (const std::int64_t over : {-1, 0, 1}) {
    Recorder recorder(Tick(0), 1);
    recorder.Sent(seconds(most + over));
    const Result result = recorder.Finish(seconds(most + over) + Tick(1));
    const auto last = static_cast<std::size_t>(std::min(most + over, most - 1));
    ASSERT_EQ(result.timeline.size(), last + 1) << over;
    EXPECT_EQ(result.timeline[last].sent, 1) << over;
  }
}

}  // namespace
}  // namespace banyan::loadtest
