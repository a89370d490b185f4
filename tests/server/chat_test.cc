// The chat handler against a real engine.
#include "server/openai/chat.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/server/fixture.h"
#include "tests/server/thinking_codec.h"

namespace banyan::server::openai {
namespace {

namespace asio = boost::asio;
namespace json = boost::json;
using ::testing::HasSubstr;

class ChatTest : public EngineTest {
 protected:
  // Begins to answer; `members` are all but the messages.
  void Begin(FakeClient& client, const std::string& members) {
    EngineTest::Begin(client, "/v1/chat/completions",
                      absl::StrCat(R"({"messages":[{"role":"user","content":"Hello"}])",
                                   members.empty() ? "" : ",", members, "}"));
  }
  std::unique_ptr<FakeClient> Ask(const std::string& members) {
    auto client = Connect();
    Begin(*client, members);
    RunToTheEnd();
    return client;
  }
};

// What is refused is refused in the same way whether or not a stream was asked for.
class ChatRefusalTest : public ChatTest, public ::testing::WithParamInterface<const char*> {};

TEST_P(ChatRefusalTest, WhileLoadingNothingIsTaken) {
  const auto client = Ask(GetParam());
  ExpectError(*client, 503, "not_ready");
  EXPECT_NE(RetryAfterOf(*client), "");
}

TEST_P(ChatRefusalTest, WhileDrainingNothingIsTaken) {
  Load(EngineRuns::kYes);
  service_.Drain();
  ExpectError(*Ask(GetParam()), 503, "not_ready");
}

TEST_P(ChatRefusalTest, AnInboxThatHasClosedSinceIsNotReady) {
  Load(EngineRuns::kYes);
  engine_->inbox().Close();
  ExpectError(*Ask(GetParam()), 503, "not_ready");
}

TEST_P(ChatRefusalTest, AFullQueueSaysWhenToComeBack) {
  Load(EngineRuns::kNot, /*max_queue=*/2);
  auto first = Connect();
  auto second = Connect();
  Begin(*first, "\"max_tokens\":1");
  Begin(*second, "\"max_tokens\":1");
  RunUntil([this] { return engine_->inbox().waiting() == 2; });

  auto third = Connect();
  Begin(*third, GetParam());
  RunUntil([&] { return third->answer.has_value(); });
  ExpectError(*third, 429, "queue_full");
  EXPECT_EQ(RetryAfterOf(*third), "1");

  engine_->Start();
  RunToTheEnd();
  EXPECT_EQ(first->answer->status, 200);
  EXPECT_EQ(second->answer->status, 200);
  EXPECT_TRUE(MetricsShow("banyan_http_errors_total{code=\"queue_full\"} 1\n"));
}

TEST_P(ChatRefusalTest, AStepThatFailsBeforeTheFirstTokenIsAnEngineError) {
  Load(EngineRuns::kYes);
  steps_.FailAfter(0);
  ExpectError(*Ask(GetParam()), 500, "engine_error");
  steps_.FailAfter(1 << 30);
  EXPECT_EQ(Ask("\"max_tokens\":1")->answer->status, 200) << "the next one is served";
  EXPECT_TRUE(MetricsShow("banyan_requests_total{finish_reason=\"failed\"} 1\n"));
}

TEST_P(ChatRefusalTest, AServerThatStopsBeforeTheFirstTokenIsNotReady) {
  Load(EngineRuns::kNot);
  auto client = Connect();
  Begin(*client, GetParam());
  RunUntil([this] { return engine_->inbox().waiting() == 1; });
  engine_->Stop();
  RunToTheEnd();
  ExpectError(*client, 503, "not_ready");
}

TEST_P(ChatRefusalTest, APromptThatCannotFitIsRefusedAndTheNextIsServed) {
  Load(EngineRuns::kYes);
  const std::string over = absl::StrCat(GetParam(), ",\"max_tokens\":1048576");
  ExpectError(*Ask(over), 400, "context_length_exceeded");
  EXPECT_EQ(Ask("\"max_tokens\":1")->answer->status, 200);
}

INSTANTIATE_TEST_SUITE_P(WholeAndStreamed, ChatRefusalTest,
                         ::testing::Values("\"stream\":false", "\"stream\":true"),
                         [](const auto& tested) {
                           return tested.index == 0 ? "Whole" : "Streamed";
                         });

TEST_F(ChatTest, ProbesFollowThePhaseAndTheModelsRoutesWaitForIt) {
  const auto ask = [this](const std::string& path) {
    return Post(path, path == "/detokenize" ? R"({"tokens":[97]})" : R"({"content":"abc"})");
  };
  for (const char* path : {"/ready", "/v1/models", "/tokenize", "/detokenize"}) {
    ExpectError(*ask(path), 503, "not_ready");
  }
  EXPECT_EQ(ask("/health")->answer->status, 200) << "alive while it loads";
  EXPECT_EQ(ask("/metrics")->answer->status, 200);
  EXPECT_THAT(ask("/version")->answer->body, HasSubstr(R"({"version":")"));
  Load(EngineRuns::kYes);
  for (const char* path :
       {"/ready", "/v1/models", "/tokenize", "/detokenize", "/health", "/metrics"}) {
    EXPECT_EQ(ask(path)->answer->status, 200) << path;
  }
  service_.Drain();
  ExpectError(*ask("/ready"), 503, "not_ready");
  EXPECT_NE(RetryAfterOf(*ask("/ready")), "");
  EXPECT_EQ(ask("/health")->answer->status, 200) << "alive while it drains";
}

TEST_F(ChatTest, AStreamIsTheWholeAnswerInPieces) {
  Load(EngineRuns::kYes);
  const auto whole = Ask("\"max_tokens\":40,\"ignore_eos\":true");
  const json::value answer = json::parse(whole->answer->body);
  const auto streamed =
      Ask("\"max_tokens\":40,\"ignore_eos\":true,\"stream\":true,"
          "\"stream_options\":{\"include_usage\":true}");
  ASSERT_TRUE(streamed->started && streamed->finished);
  ASSERT_GE(streamed->events.size(), 4U);
  EXPECT_EQ(streamed->events.back(), "[DONE]");

  std::string text;
  const json::value first = json::parse(streamed->events.front());
  EXPECT_EQ(first.at("choices").at(0).at("delta").at("role"), "assistant");
  for (std::size_t i = 0; i + 3 < streamed->events.size(); ++i) {
    const json::value chunk = json::parse(streamed->events[i]);
    EXPECT_EQ(chunk.at("id"), first.at("id"));
    EXPECT_TRUE(chunk.at("choices").at(0).at("finish_reason").is_null());
    text += Text(chunk.at("choices").at(0).at("delta").at("content"));
  }
  const json::value last = json::parse(streamed->events[streamed->events.size() - 3]);
  EXPECT_EQ(last.at("choices").at(0).at("finish_reason"), "length");
  const json::value usage = json::parse(streamed->events[streamed->events.size() - 2]);
  EXPECT_TRUE(usage.at("choices").as_array().empty());
  EXPECT_EQ(usage.at("usage").at("completion_tokens"), 40);

  EXPECT_EQ(text, Text(answer.at("choices").at(0).at("message").at("content")));
  EXPECT_EQ(usage.at("usage").at("prompt_tokens_details").at("cached_tokens").as_int64(),
            answer.at("usage").at("prompt_tokens").as_int64() - 1);
}

TEST_F(ChatTest, NothingMayBeAskedFor) {
  Load(EngineRuns::kYes);
  const json::value answer = Ask("\"max_tokens\":0,\"logprobs\":true")->Json();
  EXPECT_EQ(answer.at("choices").at(0).at("message").at("content"), "");
  EXPECT_EQ(answer.at("choices").at(0).at("finish_reason"), "length");
  EXPECT_TRUE(answer.at("choices").at(0).at("logprobs").at("content").as_array().empty());
  EXPECT_EQ(answer.at("usage").at("completion_tokens"), 0);
  const auto streamed = Ask("\"max_tokens\":0,\"stream\":true");
  ASSERT_EQ(streamed->events.size(), 3U) << "the role, the end, [DONE]";
}

TEST_F(ChatTest, AStopStringCountsTheTokensUpToItHoweverFarTheEngineRan) {
  Load(EngineRuns::kYes);
  const auto whole = Ask("\"max_tokens\":30");
  const std::string text(
      json::parse(whole->answer->body).at("choices").at(0).at("message").at("content").as_string());
  ASSERT_EQ(text.size(), 30U);
  json::object stop;
  stop["stop"] = text.substr(20, 5);
  std::string members = json::serialize(stop);
  members = members.substr(1, members.size() - 2);
  const auto stopped = Ask(absl::StrCat("\"max_tokens\":200,\"ignore_eos\":true,", members));
  const json::value answer = json::parse(stopped->answer->body);
  EXPECT_EQ(answer.at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_EQ(Text(answer.at("choices").at(0).at("message").at("content")), text.substr(0, 20));
  EXPECT_EQ(answer.at("usage").at("completion_tokens"), 25);
  EXPECT_TRUE(MetricsShow("\nbanyan_generated_tokens_total 55\n"));
}

TEST_F(ChatTest, ReasoningIsSplitOffTheAnswer) {
  model_.codec = std::make_unique<const ThinkingCodec>("");
  Load(EngineRuns::kYes);
  const std::string said = "<think>\nHm.\n</think>\n\nYes.";
  const std::string members = absl::StrCat("\"max_tokens\":", said.size());
  steps_.Say(said);
  const json::value whole = Ask(members + ",\"logprobs\":true")->Json();
  const json::value& message = whole.at("choices").at(0).at("message");
  EXPECT_EQ(message.at("reasoning_content"), "Hm.");
  EXPECT_EQ(message.at("content"), "Yes.");
  EXPECT_EQ(whole.at("choices").at(0).at("finish_reason"), "length");
  EXPECT_EQ(whole.at("usage").at("completion_tokens"), said.size());
  EXPECT_EQ(whole.at("usage").at("completion_tokens_details").at("reasoning_tokens"),
            said.size() - 4);
  EXPECT_EQ(whole.at("choices").at(0).at("logprobs").at("content").as_array().size(), said.size())
      << "of every token, marks and reasoning too";

  steps_.Say(said);
  const auto streamed =
      Ask(members + R"(,"logprobs":true,"stream":true,"stream_options":{"include_usage":true})");
  std::string reasoning;
  std::string content;
  std::size_t entries = 0;
  for (const json::value& chunk : streamed->Chunks()) {
    if (chunk.at("choices").as_array().empty()) continue;
    const json::object& delta = chunk.at("choices").at(0).at("delta").as_object();
    if (delta.contains("reasoning_content")) reasoning += Text(delta.at("reasoning_content"));
    if (delta.contains("content")) content += Text(delta.at("content"));
    const json::value& logprobs = chunk.at("choices").at(0).at("logprobs");
    if (!logprobs.is_null()) entries += logprobs.at("content").as_array().size();
  }
  EXPECT_EQ(reasoning, "Hm.");
  EXPECT_EQ(content, "Yes.");
  EXPECT_EQ(entries, said.size());
  EXPECT_EQ(streamed->Chunks().back().at("usage"), [&] {
    json::value usage = whole.at("usage");
    usage.at("prompt_tokens_details").at("cached_tokens") =
        usage.at("prompt_tokens").as_int64() - 1;
    return usage;
  }());
}

TEST_F(ChatTest, ReasoningMayBeginInThePrompt) {
  model_.codec = std::make_unique<const ThinkingCodec>("<think>\n");
  Load(EngineRuns::kYes);
  const std::string said = "Hm.</think>Yes.";
  steps_.Say(said);
  const json::value whole = Ask(absl::StrCat("\"max_tokens\":", said.size()))->Json();
  const json::value& message = whole.at("choices").at(0).at("message");
  EXPECT_EQ(message.at("reasoning_content"), "Hm.");
  EXPECT_EQ(message.at("content"), "Yes.");
}

TEST_F(ChatTest, AnAnswerWithoutReasoningIsAllContent) {
  model_.codec = std::make_unique<const ThinkingCodec>("");
  Load(EngineRuns::kYes);
  steps_.Say("Yes.");
  const json::value whole = Ask("\"max_tokens\":4")->Json();
  EXPECT_FALSE(whole.at("choices").at(0).at("message").as_object().contains("reasoning_content"));
  EXPECT_EQ(whole.at("choices").at(0).at("message").at("content"), "Yes.");
  EXPECT_EQ(whole.at("usage").at("completion_tokens_details").at("reasoning_tokens"), 0);
}

TEST_F(ChatTest, AnErrorAfterTheFirstTokenIsOneErrorEventAndTheEnd) {
  Load(EngineRuns::kYes);
  steps_.FailAfter(5);
  const auto client = Ask("\"stream\":true,\"ignore_eos\":true");
  EXPECT_TRUE(client->started && client->finished);
  EXPECT_FALSE(client->answer.has_value());
  EXPECT_EQ(json::parse(client->events.back()).at("error").at("code"), "engine_error");
  EXPECT_THAT(client->events.front(), HasSubstr("\"role\":\"assistant\""));
}

TEST_F(ChatTest, AReaderThatDoesNotReadLosesItsStreamAndHoldsUpNobody) {
  model_.unread_tokens = 100;
  Load(EngineRuns::kYes);
  auto slow = Connect();
  slow->reading = false;
  Begin(*slow, "\"stream\":true,\"ignore_eos\":true,\"max_tokens\":8000");
  RunUntil([&] { return !slow->events.empty(); });
  auto other = Connect();
  Begin(*other, "\"max_tokens\":10");
  RunUntil([&] { return other->answer.has_value(); });
  EXPECT_EQ(other->answer->status, 200);

  RunUntil([this] {
    return MetricOf("banyan_sampled_tokens_total") > 100 &&
           MetricOf("banyan_running_requests") == 0;
  });
  slow->Read();
  RunToTheEnd();
  EXPECT_EQ(json::parse(slow->events.back()).at("error").at("code"), "slow_reader");
  EXPECT_TRUE(MetricsShow("banyan_requests_total{finish_reason=\"slow_reader\"} 1\n"));
}

TEST_F(ChatTest, AClientThatLeavesInTheMiddleOfItsStreamFreesItsPages) {
  Load(EngineRuns::kYes);
  auto client = Connect();
  steps_.CloseAfter(3);  // so that the answer is not done before the client goes
  client->on_events = [&] {
    client->Leave();
    steps_.Open();
  };
  Begin(*client, "\"stream\":true,\"ignore_eos\":true");
  RunToTheEnd();
  EXPECT_FALSE(client->finished);
  EXPECT_TRUE(MetricsShow("banyan_requests_total{finish_reason=\"cancelled\"} 1\n"));
  RunUntil([this] {
    return MetricsShow("\nbanyan_running_requests 0\n") &&
           MetricsShow("banyan_kv_pages{state=\"open\"} 0\n");
  });
}

TEST_F(ChatTest, AClientThatLeavesTheQueueIsNeverRun) {
  Load(EngineRuns::kNot);
  auto client = Connect();
  Begin(*client, "");
  RunUntil([this] { return engine_->inbox().waiting() == 1; });
  client->Leave();
  engine_->Start();
  RunToTheEnd();
  EXPECT_FALSE(client->answer.has_value());
  EXPECT_TRUE(MetricsShow("banyan_requests_total{finish_reason=\"cancelled\"} 1\n"));
  EXPECT_TRUE(MetricsShow("\nbanyan_prompt_tokens_total 0\n"));
}

TEST_F(ChatTest, ACoroutineThatIsDestroyedCancelsItsRequest) {
  Load(EngineRuns::kNot);
  {
    asio::io_context doomed;
    FakeClient client{asio::make_strand(doomed)};
    auto request = std::make_shared<http::Request>();
    request->body = R"({"messages":[{"role":"user","content":"Hello"}]})";
    asio::co_spawn(client.executor(), Chat(service_, *request, client), asio::detached);
    while (engine_->inbox().waiting() == 0) doomed.run_one();
    const scheduler::Inbox::Mail before = engine_->inbox().Drain(std::chrono::nanoseconds(0));
    EXPECT_EQ(before.requests.size(), 1U);
    EXPECT_TRUE(before.cancellations.empty());
  }
  EXPECT_EQ(engine_->inbox().Drain(std::chrono::nanoseconds(0)).cancellations.size(), 1U);
}

}  // namespace
}  // namespace banyan::server::openai
