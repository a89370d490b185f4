// A whole run against a server with scripted delays, under a clock that the scripts move: every
// figure of its report, worked out by hand. Times are nanoseconds, few enough for the histograms to
// be exact.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "loadtest/report/report.h"
#include "loadtest/run/session.h"
#include "tests/loadtest/scripted_client.h"

namespace banyan::loadtest {
namespace {

namespace asio = boost::asio;

class Answer {
 public:
  Answer& Sent(int after) { return Add(after, Step::What::kSent, ""); }
  Answer& Head(int after, int status = 200) {
    Add(after, Step::What::kHead, "");
    script_.steps.back().status = status;
    return *this;
  }
  Answer& Bytes(int after, const std::string& bytes) {
    return Add(after, Step::What::kBody, bytes);
  }
  Answer& Role(int after) { return Bytes(after, kRole); }
  Answer& Text(int after, const std::string& text) { return Bytes(after, Content(text)); }
  Answer& Ends(int after, int prompt, int cached, int tokens) {
    return Bytes(after, absl::StrCat(R"(data: {"choices":[{"delta":{},"finish_reason":"length"}]})",
                                     "\n\n", R"(data: {"choices":[],"usage":{"prompt_tokens":)",
                                     prompt, R"(,"completion_tokens":)", tokens,
                                     R"(,"prompt_tokens_details":{"cached_tokens":)", cached,
                                     "}}}\n\ndata: [DONE]\n\n"));
  }
  Script Breaks(int after, http::ClientError error) {
    Bytes(after, "");
    script_.error = error;
    return script_;
  }
  operator Script() const { return script_; }  // NOLINT: scripts are written as answers

  static constexpr const char* kRole =
      "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";

 private:
  Answer& Add(int after, Step::What what, std::string bytes) {
    script_.steps.push_back({Tick(after), what, std::move(bytes), 200});
    return *this;
  }

  Script script_;
};

class ScriptedRunTest : public ::testing::Test {
 protected:
  static constexpr Tick kStart = Tick(1'000'000);
  static constexpr Tick kWarmUp = Tick(400);

  ScriptedRunTest() : client_(clock_), waiting_(io_.get_executor(), 1), recorder_(kWarmUp, 100) {
    clock_.Advance(kStart);
  }

  // A conversation of as many turns as there are answers, to which the client comes `late`.
  // `later`: when the second turn is due, if it has a time.
  void Converse(int scheduled, int late, const std::vector<Script>& answers,
                std::optional<Tick> later = std::nullopt) {
    Conversation conversation;
    for (const Script& answer : answers) {
      client_.scripts.push_back(answer);
      Turn turn;
      turn.number = static_cast<std::int32_t>(conversation.turns.size() + 1);
      if (turn.number == 2) turn.at = later;
      turn.messages.resize(1);
      turn.messages[0].segments = {{1, 20}};
      conversation.turns.push_back(turn);
    }
    clock_.Advance(kStart + Tick(scheduled + late) - clock_.Now());
    Bed bed{options_, format_, vocabulary_, clock_, client_, waiting_, recorder_, kStart, 100};
    auto run = [&]() -> asio::awaitable<void> {
      const bool entered = co_await waiting_.Enter();
      EXPECT_TRUE(entered);
      Session session(bed, conversation, number_++);
      co_await session.Run({Tick(scheduled), Tick(scheduled)});
    };
    asio::co_spawn(io_, run, asio::detached);
    io_.run();
    io_.restart();
  }

  // One of each kind; what comes of it is in the tests.
  Result RunAll() {
    // Of the warm-up: figures that would be seen.
    Converse(0, 0, {Answer().Sent(1).Head(300).Text(33, "a").Text(20, "b").Ends(6, 400, 399, 2)});
    Converse(400, 7,
             {// A role long before the first content, three tokens in one event, a pause.
              Answer()
                  .Sent(3)
                  .Head(10)
                  .Role(10)
                  .Text(70, "aa")
                  .Text(60, "bbbbbb")
                  .Text(500, "cc")
                  .Ends(5, 40, 0, 5),
              // It was due within the answer before. Role and content in one read.
              Answer()
                  .Sent(2)
                  .Head(1)
                  .Bytes(42, Answer::kRole + Content("dd") + Content("ee"))
                  .Text(30, "ff")
                  .Ends(1, 60, 40, 3),
              // All in one event, behind a comment.
              Answer().Sent(1).Head(5).Bytes(5, ": wait\n\n").Text(90, "gggg").Ends(8, 80, 80, 4)},
             Tick(500));
    Converse(
        1260, 60,
        {Answer().Sent(5).Head(5).Role(1).Text(49, "a").Breaks(30, http::ClientError::kReset)});
    Converse(1460, 0, {Answer().Sent(1).Head(5, 429).Bytes(4, "full")});
    Converse(1480, 0, {Answer().Breaks(10, http::ClientError::kRefused)});
    Converse(1500, 0,
             {Answer().Sent(1).Head(1).Text(19, "a").Bytes(
                 10, Event(R"({"error":{"message":"a step failed"}})"))});
    Converse(1600, 0, {Answer().Sent(2).Head(8).Role(5).Text(5, "h").Ends(2, 40, 10, 1)});
    clock_.Advance(kStart + Tick(2400) - clock_.Now());
    return recorder_.Finish(clock_.Now() - kStart);
  }

  FakeClock clock_;
  asio::io_context io_;
  ScriptedClient client_;
  Waiting waiting_;
  Recorder recorder_;
  Vocabulary vocabulary_;
  RunOptions options_;
  RequestFormat format_ = *RequestFormat::Create(RequestOptions());
  std::int64_t number_ = 0;
};

Slo Limits() {
  Slo slo;
  slo.ttft = Tick(101);
  slo.itl = Tick(140);
  slo.latency = Tick(665);
  return slo;
}

// Exactly these, in any order.
void ExpectValues(const Histogram& histogram, std::initializer_list<std::int64_t> values) {
  Histogram expected;
  for (const std::int64_t value : values) expected.Record(value);
  EXPECT_EQ(histogram, expected) << "mean " << histogram.mean() << ", of " << histogram.count();
}

TEST_F(ScriptedRunTest, DistributionsHoldWhatTheServerDid) {
  const Summary summary = Summarize(RunAll(), Limits());
  ExpectValues(summary.all.ttft, {90, 43, 100, 18});
  ExpectValues(summary.all.ttft_scheduled, {100, 610, 101, 20});
  ExpectValues(summary.all.tpot, {140, 15});
  ExpectValues(summary.all.latency, {655, 74, 108, 20});
  ExpectValues(summary.inter_token, {20, 20, 20, 500, 0, 30});
  // Failed ones too, but for the one that could not be sent.
  ExpectValues(summary.queueing, {10, 567, 1, 65, 1, 1, 2});
}

TEST_F(ScriptedRunTest, TheClientsLagIsItsOwnAndNotTheServers) {
  ExpectValues(RunAll().client.lag, {0, 7, 0, 0, 60, 0, 0, 0, 0});
}

TEST_F(ScriptedRunTest, CountsAndRatesAreOfWhatCameAfterTheWarmUp) {
  const Summary summary = Summarize(RunAll(), Limits());
  EXPECT_EQ(summary.measured, Tick(2000));
  EXPECT_EQ(summary.requests(), 8);
  EXPECT_EQ(summary.all.requests, 4);
  EXPECT_EQ(summary.failed(), 4);
  for (const Outcome outcome :
       {Outcome::kReset, Outcome::kStatus, Outcome::kRefused, Outcome::kErrorEvent}) {
    EXPECT_EQ(summary.outcomes[static_cast<std::size_t>(outcome)], 1) << Name(outcome);
  }
  EXPECT_EQ(summary.output_tokens, 5 + 3 + 4 + 1);
  EXPECT_DOUBLE_EQ(summary.requests_per_second, 4 / 2e-6);
  EXPECT_DOUBLE_EQ(summary.tokens_per_second, 13 / 2e-6);
  EXPECT_EQ(summary.all.prompt_tokens, 40 + 60 + 80 + 40);
  EXPECT_EQ(summary.all.cached_tokens, 0 + 40 + 80 + 10);
  EXPECT_FALSE(summary.usage_missing);
}

TEST_F(ScriptedRunTest, GoodputIsOfThoseThatKeptEveryLimit) {
  // The first keeps each limit at its bound; the second waited too long.
  const Result result = RunAll();
  Summary summary = Summarize(result, Limits());
  EXPECT_DOUBLE_EQ(summary.slo_share, 3 / 8.0);
  EXPECT_DOUBLE_EQ(summary.goodput, 3 / 2e-6);
  for (const auto limit : {&Slo::ttft, &Slo::itl, &Slo::latency}) {
    Slo slo = Limits();
    // Below what one request needs: the third's 101, the first's 140 and 665.
    *(slo.*limit) -= Tick(1);
    summary = Summarize(result, slo);
    EXPECT_DOUBLE_EQ(summary.slo_share, 2 / 8.0) << Text(slo);
  }
}

TEST_F(ScriptedRunTest, GroupsHoldTheirRequests) {
  const Summary summary = Summarize(RunAll(), Slo());
  ASSERT_EQ(summary.by_turn.size(), 3u);
  ExpectValues(summary.by_turn.at(1).ttft, {90, 18});
  ExpectValues(summary.by_turn.at(1).tpot, {140});
  EXPECT_EQ(summary.by_turn.at(1).hit_rate(), 10 / 80.0);
  ExpectValues(summary.by_turn.at(2).ttft_scheduled, {610});
  ExpectValues(summary.by_turn.at(3).latency, {108});
  const std::int64_t expected[kHitBuckets] = {100, 20, 0, 610, 101};
  for (std::size_t i = 0; i < kHitBuckets; ++i) {
    const Group& group = summary.by_hit_rate[i];
    EXPECT_EQ(group.requests, expected[i] == 0 ? 0 : 1) << i;
    EXPECT_EQ(group.ttft_scheduled.max(), expected[i]) << i;
  }
}

TEST_F(ScriptedRunTest, TheTimelineCountsAllThatHappened) {
  const Result result = RunAll();
  ASSERT_EQ(result.timeline.size(), 1u);
  EXPECT_EQ(result.timeline[0].sent, 9);
  EXPECT_EQ(result.timeline[0].finished, 5);
  EXPECT_EQ(result.timeline[0].failed, 4);
  EXPECT_EQ(result.timeline[0].tokens, 2 + 13 + 2) << "of answers that failed too";
  EXPECT_EQ(result.timeline[0].in_flight, 0);
}

double Figure(const boost::json::value& summary, std::string_view path) {
  boost::system::error_code error;
  const boost::json::value* const value = summary.find_pointer({path.data(), path.size()}, error);
  EXPECT_NE(value, nullptr) << path;
  return value == nullptr ? -1 : value->to_number<double>();
}

TEST_F(ScriptedRunTest, TheJsonSaysTheSame) {
  const boost::json::value report = boost::json::parse(Json({RunAll(), Limits()}));
  const boost::json::value& summary = report.at("summary");
  const std::pair<const char*, double> expected[] = {
      {"/measured_s", 2e-6},
      {"/requests", 8},
      {"/ok", 4},
      {"/failed/reset", 1},
      {"/failed/status", 1},
      {"/failed/refused", 1},
      {"/failed/error_event", 1},
      {"/requests_per_second", 2e6},
      {"/output_tokens", 13},
      {"/output_tokens_per_second", 6.5e6},
      {"/goodput", 1.5e6},
      {"/slo_share", 0.375},
      {"/inter_token/count", 6},
      {"/inter_token/mean_ms", 590 / 6e6},
      {"/inter_token/p50_ms", 20e-6},
      {"/inter_token/p90_ms", 500e-6},
      {"/queueing/count", 7},
      {"/queueing/p50_ms", 2e-6},
      {"/queueing/max_ms", 567e-6},
      {"/all/ttft/min_ms", 18e-6},
      {"/all/ttft/p50_ms", 43e-6},
      {"/all/ttft/p99_ms", 100e-6},
      {"/all/ttft_scheduled/mean_ms", 831 / 4e6},
      {"/all/ttft_scheduled/p50_ms", 100e-6},
      {"/all/ttft_scheduled/p90_ms", 610e-6},
      {"/all/tpot/count", 2},
      {"/all/tpot/p50_ms", 15e-6},
      {"/all/tpot/p95_ms", 140e-6},
      {"/all/latency/p50_ms", 74e-6},
      {"/all/latency/p99.9_ms", 655e-6},
      {"/all/hit_rate", 130 / 220.0},
      {"/by_turn/0/requests", 2},
      {"/by_hit_rate/1/ttft/p50_ms", 18e-6},
      {"/by_hit_rate/3/requests", 1},
      {"/by_hit_rate/3/tpot/count", 0},
  };
  for (const auto& [path, value] : expected) {
    EXPECT_DOUBLE_EQ(Figure(summary, path), value) << path;
  }
  EXPECT_EQ(summary.at("failed").as_object().size(), 4u);
}

TEST_F(ScriptedRunTest, TheCsvHasTheTimesOfEachRequest) {
  const std::string csv = Csv(RunAll());
  const std::vector<std::string> lines = absl::StrSplit(csv, "\r\n", absl::SkipEmpty());
  ASSERT_EQ(lines.size(), 10u);
  // warm_up is the third column; times are milliseconds.
  EXPECT_THAT(lines[1], ::testing::StartsWith("0,1,1,ok,200,0.000000,0.000001,0.000334,"));
  EXPECT_EQ(lines[2],
            "1,1,0,ok,200,0.000400,0.000410,0.000500,0.001060,0.001065,0.000007,0.000090,0.000100,"
            "0.000140,0.000655,3,20,40,0,5,length,");
  EXPECT_EQ(lines[3],
            "1,2,0,ok,200,0.000500,0.001067,0.001110,0.001140,0.001141,0.000000,0.000043,0.000610,"
            "0.000015,0.000074,3,45,60,40,3,length,");
  EXPECT_EQ(lines[5],
            "2,1,0,reset,200,0.001260,0.001325,0.001380,0.001380,0.001410,0.000060,,,,,1,20,,,,,"
            "what happened");
  EXPECT_EQ(lines[7], "4,1,0,refused,,0.001480,,,,0.001490,0.000000,,,,,0,20,,,,,what happened");
}

}  // namespace
}  // namespace banyan::loadtest
