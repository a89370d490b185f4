// A conversation against a scripted server, under a clock that the script moves: every time and
// count is exact.
#include "loadtest/run/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/loadtest/scripted_client.h"

namespace banyan::loadtest {
namespace {

namespace asio = boost::asio;

constexpr const char* kEnd =
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":40,\"completion_tokens\":6,"
    "\"prompt_tokens_details\":{\"cached_tokens\":32}}}\n\ndata: [DONE]\n\n";

// Sent after 2 ns, a head after 10, a role after 5, content after 100 and after 60, the end
// after 3.
Script Good(const std::string& first, const std::string& second) {
  return {{{Tick(2), Step::What::kSent, "", 0},
           {Tick(10), Step::What::kHead, "", 200},
           {Tick(5), Step::What::kBody,
            Event(R"({"choices":[{"delta":{"role":"assistant","content":""}}]})"), 0},
           {Tick(100), Step::What::kBody, Content(first), 0},
           {Tick(60), Step::What::kBody, Content(second), 0},
           {Tick(3), Step::What::kBody, kEnd, 0}},
          http::ClientError::kNone};
}

Turn Asks(int number, std::uint64_t key, Tick think = Tick(0)) {
  Turn turn;
  turn.number = number;
  turn.think = think;
  turn.output_tokens = 6;
  turn.messages.resize(1);
  turn.messages[0].segments = {{key, 20}};
  return turn;
}

class SessionTest : public ::testing::Test {
 protected:
  SessionTest()
      : client_(clock_), waiting_(io_.get_executor(), 1), recorder_(std::in_place, Tick(0), 100) {
    clock_.Advance(kStart);
    options_.concurrency = 1;
    conversation_.turns = {Asks(1, 1), Asks(2, 2, Tick(50)), Asks(3, 3)};
  }

  // All records of the conversation, begun at `due` of the run.
  std::vector<Record> Run(Due due, std::int64_t requests_left = 100) {
    RequestOptions request;
    request.api = options_.target.api;
    const RequestFormat format = *RequestFormat::Create(request);
    Bed bed{options_, format,     vocabulary_, clock_,       client_,
            waiting_, *recorder_, kStart,      requests_left};
    auto run = [&]() -> asio::awaitable<void> {
      const bool entered = co_await waiting_.Enter();
      EXPECT_TRUE(entered);
      Session session(bed, conversation_, 7);
      co_await session.Run(due);
    };
    asio::co_spawn(io_, run, asio::detached);
    io_.run();
    io_.restart();
    EXPECT_EQ(recorder_->in_flight(), 0);
    Result result = recorder_->Finish(clock_.Now() - kStart);
    timeline_ = std::move(result.timeline);
    return std::move(result.records);
  }

  static constexpr Tick kStart = Tick(1'000'000);
  FakeClock clock_;
  asio::io_context io_;
  ScriptedClient client_;
  Waiting waiting_;
  std::optional<Recorder> recorder_;
  Vocabulary vocabulary_;
  RunOptions options_;
  Conversation conversation_;
  std::vector<Second> timeline_;  // of the last run
};

TEST_F(SessionTest, EveryTimeIsThatOfItsEvent) {
  conversation_.turns.resize(1);
  client_.scripts = {Good("Hi", " there")};
  clock_.Advance(Tick(30));
  const std::vector<Record> records = Run({Tick(10), Tick(12)});
  ASSERT_EQ(records.size(), 1u);
  const Record& record = records[0];
  EXPECT_EQ(record.outcome, Outcome::kOk) << record.error;
  EXPECT_EQ(record.conversation, 7);
  EXPECT_EQ(record.turn, 1);
  EXPECT_EQ(record.scheduled, Tick(10));
  EXPECT_EQ(record.client_delay, Tick(18)) << "from when it could act";
  EXPECT_EQ(record.sent, Tick(32));
  EXPECT_EQ(record.first_content, Tick(147)) << "not the role's time";
  EXPECT_EQ(record.last_content, Tick(207));
  EXPECT_EQ(record.end, Tick(210));
  EXPECT_EQ(record.ttft(), Tick(115));
  EXPECT_EQ(record.ttft_scheduled(), Tick(137));
  EXPECT_EQ(record.tpot(), Tick(12));
  EXPECT_EQ(record.content_events, 2);
  EXPECT_EQ(record.wanted_prompt_tokens, 20);
  EXPECT_EQ(record.prompt_tokens, 40);
  EXPECT_EQ(record.cached_tokens, 32);
  EXPECT_EQ(record.output_tokens, 6);
  EXPECT_EQ(client_.targets[0], "/v1/chat/completions");
}

TEST_F(SessionTest, AnswersGoBackAndThinkTimesAreKept) {
  client_.scripts = {Good("Hi", " \\\"you\\\""), Good("a", "b"), Good("c", "d")};
  const std::vector<Record> records = Run({Tick(0), Tick(0)});
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[1].scheduled, records[0].end + Tick(50));
  EXPECT_EQ(records[2].scheduled, records[1].end);
  EXPECT_EQ(records[2].turn, 3);
  EXPECT_EQ(records[1].wanted_prompt_tokens, 20 + 6 + 20) << "the server's answer counts as it is";
  const auto messages = boost::json::parse(client_.bodies[2]).as_object().at("messages").as_array();
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_EQ(messages[1].at("role"), "assistant");
  EXPECT_EQ(messages[1].at("content"), "Hi \"you\"");
  EXPECT_EQ(messages[3].at("content"), "ab");
}

TEST_F(SessionTest, AConnectionThatEndsAfterItsAnswerIsNotTheClientsLag) {
  Script slow = Good("a", "b");
  slow.steps.push_back({Tick(40), Step::What::kBody, "\n", 0});
  client_.scripts = {slow, slow, slow};
  const std::vector<Record> records = Run({Tick(0), Tick(0)});
  ASSERT_EQ(records.size(), 3u);
  // The second is due 50 later, which is not yet; the third at once, which cannot be.
  EXPECT_EQ(records[2].scheduled, records[1].end);
  EXPECT_EQ(records[2].sent, records[1].end + Tick(42));
  EXPECT_EQ(records[2].client_delay, Tick(0));
}

TEST_F(SessionTest, ACompletionsHistoryIsItsText) {
  options_.target.api = Api::kCompletions;
  conversation_.turns.resize(2);
  const std::string answer =
      Event(R"({"choices":[{"text":"Hi","finish_reason":"length"}]})") + "data: [DONE]\n\n";
  const Script script{{{Tick(1), Step::What::kSent, "", 0},
                       {Tick(1), Step::What::kHead, "", 200},
                       {Tick(1), Step::What::kBody, answer, 0}},
                      http::ClientError::kNone};
  client_.scripts = {script, script};
  ASSERT_EQ(Run({Tick(0), Tick(0)}).size(), 2u);
  EXPECT_EQ(client_.targets[1], "/v1/completions");
  const std::string prompt =
      boost::json::parse(client_.bodies[1]).as_object().at("prompt").as_string().c_str();
  EXPECT_EQ(prompt, vocabulary_.Text(conversation_.turns[0].messages[0]) + "Hi" +
                        vocabulary_.Text(conversation_.turns[1].messages[0]));
}

TEST_F(SessionTest, AnAnswerThatIsNotStreamedIsInTheTimelineToo) {
  conversation_.turns.resize(1);
  client_.scripts = {
      {{{Tick(2), Step::What::kSent, "", 0},
        {Tick(10), Step::What::kBody, R"({"choices":[{"message":{"content":"Hi there"},)", 0},
        {Tick(30), Step::What::kBody,
         R"("finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2}})", 0}},
       http::ClientError::kNone}};
  Run({Tick(0), Tick(0)});
  ASSERT_EQ(timeline_.size(), 1u);
  EXPECT_EQ(timeline_[0].tokens, 2);
}

TEST_F(SessionTest, AFailedTurnEndsItsConversation) {
  client_.scripts = {Good("a", "b"), {{}, http::ClientError::kRefused}};
  clock_.Advance(Tick(5));
  const std::vector<Record> records = Run({Tick(0), Tick(0)});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[1].outcome, Outcome::kRefused);
  EXPECT_EQ(records[1].error, "what happened");
  EXPECT_EQ(records[1].status, 0);
  EXPECT_FALSE(records[1].was_sent());
}

TEST_F(SessionTest, EveryFaultOfAConnectionHasItsOutcome) {
  const std::pair<http::ClientError, Outcome> faults[] = {
      {http::ClientError::kUnresolved, Outcome::kUnresolved},
      {http::ClientError::kRefused, Outcome::kRefused},
      {http::ClientError::kTls, Outcome::kTls},
      {http::ClientError::kReset, Outcome::kReset},
      {http::ClientError::kTruncated, Outcome::kTruncated},
      {http::ClientError::kTimeout, Outcome::kTimeout},
      {http::ClientError::kMalformed, Outcome::kMalformed},
      {http::ClientError::kStopped, Outcome::kInterrupted}};
  conversation_.turns.resize(1);
  Script script = Good("a", "b");
  script.steps.pop_back();
  for (const auto& [error, outcome] : faults) {
    script.error = error;
    client_.scripts.push_back(script);
    recorder_.emplace(Tick(0), 1);
    const std::vector<Record> records = Run({Tick(0), Tick(0)});
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].outcome, outcome);
    EXPECT_EQ(records[0].error, "what happened");
    EXPECT_EQ(records[0].content_events, 2) << "what came before is kept";
  }
}

TEST_F(SessionTest, WhatTheServerSaidGoesBeforeWhatTheConnectionDid) {
  conversation_.turns.resize(1);
  Script done = Good("a", "b");
  done.error = http::ClientError::kReset;
  const Script refused{{{Tick(1), Step::What::kSent, "", 0},
                        {Tick(1), Step::What::kHead, "", 429},
                        {Tick(1), Step::What::kBody, R"({"error":{"message":"full"}})", 0}},
                       http::ClientError::kTruncated};
  Script error = Good("a", "b");
  error.steps.back().bytes = Event(R"({"error":{"message":"a step failed"}})");
  error.error = http::ClientError::kReset;
  client_.scripts = {done, refused, error};
  const std::pair<Outcome, std::string> expected[] = {{Outcome::kOk, ""},
                                                      {Outcome::kStatus, "status 429: full"},
                                                      {Outcome::kErrorEvent, "a step failed"}};
  for (const auto& [outcome, words] : expected) {
    recorder_.emplace(Tick(0), 1);
    const std::vector<Record> records = Run({Tick(0), Tick(0)});
    ASSERT_EQ(records.size(), 1u);
    EXPECT_EQ(records[0].outcome, outcome);
    EXPECT_EQ(records[0].error, words);
  }
}

TEST_F(SessionTest, NoMoreIsSentThanAllowed) {
  client_.scripts = {Good("a", "b"), Good("a", "b"), Good("a", "b")};
  EXPECT_EQ(Run({Tick(0), Tick(0)}, 2).size(), 2u);
  EXPECT_TRUE(waiting_.stopped()) << "who still waits will not be sent";
}

TEST_F(SessionTest, NothingIsSentAfterTheTime) {
  client_.scripts = {Good("a", "b"), Good("a", "b"), Good("a", "b")};
  // The first ends at 180; the second is due at 230, and sent at once because this clock does not
  // move by itself: it ends at 360, when the third is due.
  for (const int time : {229, 230, 231, 359, 360}) {
    options_.max_time = Tick(time);
    recorder_.emplace(Tick(0), 3);
    client_.bodies.clear();
    clock_.Advance(kStart - clock_.Now());
    const std::size_t expected = time < 230 ? 1 : time < 360 ? 2 : 3;
    EXPECT_EQ(Run({Tick(0), Tick(0)}).size(), expected) << time;
  }
}

TEST_F(SessionTest, ThePlaceIsLeftHoweverItEnds) {
  client_.scripts = {Good("a", "b"), {{}, http::ClientError::kReset}};
  Run({Tick(0), Tick(0)});
  bool entered = false;
  auto enter = [&]() -> asio::awaitable<void> { entered = co_await waiting_.Enter(); };
  asio::co_spawn(io_, enter, asio::detached);
  io_.run();
  EXPECT_TRUE(entered);
}

}  // namespace
}  // namespace banyan::loadtest
