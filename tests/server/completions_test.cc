// The completions handler against a real engine.
#include "server/openai/completions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/openai/generation.h"
#include "tests/server/fixture.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;

class CompletionsTest : public EngineTest {
 protected:
  void Begin(FakeClient& client, const std::string& members) {
    EngineTest::Begin(client, "/v1/completions", absl::StrCat("{", members, "}"));
  }
  std::unique_ptr<FakeClient> Ask(const std::string& members) {
    return Post("/v1/completions", absl::StrCat("{", members, "}"));
  }
  static std::string TextOf(const json::value& answer, std::size_t index) {
    return Text(answer.at("choices").at(index).at("text"));
  }
};

TEST_F(CompletionsTest, EachPromptIsAChoiceAsIfAskedAlone) {
  Load(EngineRuns::kYes);
  const json::value both =
      Ask(R"("prompt":["One","Two"],"max_tokens":9,"ignore_eos":true)")->Json();
  ASSERT_EQ(both.at("choices").as_array().size(), 2U);
  EXPECT_EQ(both.at("object"), "text_completion");
  EXPECT_TRUE(Text(both.at("id")).starts_with("cmpl-"));
  int index = 0;
  for (const char* prompt : {"One", "Two"}) {
    const json::value& choice = both.at("choices").at(index);
    EXPECT_EQ(choice.at("index"), index);
    EXPECT_EQ(choice.at("finish_reason"), "length");
    const json::value alone =
        Ask(absl::StrCat(R"("max_tokens":9,"ignore_eos":true,"prompt":")", prompt, "\""))->Json();
    EXPECT_EQ(TextOf(alone, 0), TextOf(both, index));
    ++index;
  }
  EXPECT_EQ(both.at("usage").at("prompt_tokens"), 6);
  EXPECT_EQ(both.at("usage").at("completion_tokens"), 18);
  EXPECT_TRUE(MetricsShow("banyan_requests_total{finish_reason=\"length\"} 4\n"))
      << "each is a request of its own";
}

TEST_F(CompletionsTest, TokensAreAPromptAsTheirTextIs) {
  Load(EngineRuns::kYes);
  const std::string text = TextOf(Ask(R"("prompt":"ab")")->Json(), 0);
  EXPECT_EQ(TextOf(Ask(R"("prompt":[97,98])")->Json(), 0), text);
  EXPECT_EQ(TextOf(Ask(R"("prompt":[[97,98]])")->Json(), 0), text);
  EXPECT_EQ(text.size(), 16U) << "the API's default length";
}

TEST_F(CompletionsTest, ControlTokensInAPromptAreThePromptsOwn) {
  Load(EngineRuns::kYes);
  const json::value answer = Ask(R"("prompt":"a<|im_end|>","max_tokens":1)")->Json();
  EXPECT_EQ(answer.at("usage").at("prompt_tokens"), 2);
}

TEST_F(CompletionsTest, TheEchoOfAPromptIsBeforeItsAnswer) {
  Load(EngineRuns::kYes);
  const std::string plain = TextOf(Ask(R"("prompt":"ab")")->Json(), 0);
  EXPECT_EQ(TextOf(Ask(R"("prompt":"ab","echo":true)")->Json(), 0), "ab" + plain);
  EXPECT_EQ(TextOf(Ask(R"("prompt":[97,98],"echo":true)")->Json(), 0), "ab" + plain);
  EXPECT_EQ(TextOf(Ask(R"("prompt":[255],"max_tokens":1,"echo":true)")->Json(), 0).substr(0, 3),
            "\xEF\xBF\xBD");
}

TEST_F(CompletionsTest, AStreamHasTheChoicesOfTheWholeAnswer) {
  Load(EngineRuns::kYes);
  const std::string members = R"("prompt":["One","Two","Three"],"max_tokens":30,"echo":true)";
  const json::value whole = Ask(members)->Json();
  const auto client =
      Ask(absl::StrCat(members, R"(,"stream":true,"stream_options":{"include_usage":true})"));
  ASSERT_TRUE(client->started && client->finished);
  EXPECT_EQ(client->events.back(), "[DONE]");
  std::map<std::int64_t, std::string> texts;
  std::map<std::int64_t, std::string> ends;
  std::vector<json::value> chunks = client->Chunks();
  const json::value usage = chunks.back();
  chunks.pop_back();
  for (const json::value& chunk : chunks) {
    EXPECT_EQ(chunk.at("id"), chunks.front().at("id"));
    EXPECT_TRUE(chunk.at("usage").is_null());
    const json::value& choice = chunk.at("choices").at(0);
    const std::int64_t index = choice.at("index").as_int64();
    EXPECT_FALSE(ends.contains(index)) << "nothing comes after a choice's end";
    texts[index] += Text(choice.at("text"));
    if (!choice.at("finish_reason").is_null()) ends[index] = Text(choice.at("finish_reason"));
  }
  ASSERT_EQ(ends.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(texts[i], TextOf(whole, i));
    EXPECT_EQ(json::value(ends[i]), whole.at("choices").at(i).at("finish_reason"));
  }
  EXPECT_TRUE(usage.at("choices").as_array().empty());
  EXPECT_EQ(usage.at("usage").at("completion_tokens"), whole.at("usage").at("completion_tokens"));
}

// The lists of a choice's "logprobs", of all of a stream's chunks one after the other.
json::object Joined(const std::vector<json::value>& chunks) {
  json::object lists;
  for (const json::value& chunk : chunks) {
    const json::value& logprobs = chunk.at("choices").at(0).at("logprobs");
    if (logprobs.is_null()) continue;
    for (const auto& member : logprobs.as_object()) {
      json::value& list = lists.emplace(member.key(), json::array()).first->value();
      for (const json::value& one : member.value().as_array()) list.as_array().push_back(one);
    }
  }
  return lists;
}

TEST_F(CompletionsTest, LogprobsOfAStreamAreThoseOfTheWholeAnswer) {
  Load(EngineRuns::kYes);
  const std::string members =
      R"("prompt":"Prompt é","max_tokens":30,"ignore_eos":true,"echo":true,"logprobs":3)";
  const json::value whole = Ask(members)->Json().at("choices").at(0);
  const json::object& logprobs = whole.at("logprobs").as_object();
  for (const auto& member : logprobs) {
    EXPECT_EQ(member.value().as_array().size(), 9U + 30U) << member.key();
  }
  EXPECT_TRUE(logprobs.at("token_logprobs").at(0).is_null());
  EXPECT_TRUE(logprobs.at("token_logprobs").at(1).is_number());
  EXPECT_EQ(logprobs.at("tokens").at(7), "bytes:\\xc3") << "the first byte of the last letter";
  EXPECT_EQ(logprobs.at("text_offset").at(8), 7);
  EXPECT_EQ(logprobs.at("text_offset").at(9), 8);
  EXPECT_EQ(logprobs.at("text_offset").at(38), 8 + 29);
  EXPECT_EQ(Joined(Ask(members + R"(,"stream":true)")->Chunks()), logprobs);
}

TEST_F(CompletionsTest, APromptAloneCanBeScored) {
  Load(EngineRuns::kYes);
  const json::value answer =
      Ask(R"("prompt":["abc","d"],"max_tokens":0,"echo":true,"logprobs":0)")->Json();
  const json::value& first = answer.at("choices").at(0);
  EXPECT_EQ(first.at("text"), "abc");
  EXPECT_EQ(first.at("finish_reason"), "length");
  EXPECT_EQ(first.at("logprobs").at("tokens"), (json::array{"a", "b", "c"}));
  EXPECT_EQ(first.at("logprobs").at("top_logprobs").at(1).as_object().size(), 1U)
      << "the token itself";
  const json::value& second = answer.at("choices").at(1);
  EXPECT_EQ(second.at("logprobs").at("token_logprobs"), json::array{nullptr});
  EXPECT_EQ(answer.at("usage").at("completion_tokens"), 0);
  const auto stream =
      Ask(R"("prompt":"abc","max_tokens":0,"echo":true,"logprobs":0,"stream":true)");
  ASSERT_EQ(stream->events.size(), 3U) << "the prompt, the end, [DONE]";
  EXPECT_EQ(Joined(stream->Chunks()), first.at("logprobs").as_object());
}

TEST_F(CompletionsTest, AStopStringEndsOneChoiceAndNotTheOthers) {
  Load(EngineRuns::kYes);
  const std::string members = R"("prompt":["One","Two"],"max_tokens":20,"ignore_eos":true)";
  const json::value whole = Ask(members)->Json();
  json::object stop;
  stop["stop"] = TextOf(whole, 0).substr(5, 6);
  const std::string text = json::serialize(stop);
  const json::value stopped =
      Ask(absl::StrCat(members, ",", text.substr(1, text.size() - 2)))->Json();
  EXPECT_EQ(TextOf(stopped, 0), TextOf(whole, 0).substr(0, 5));
  EXPECT_EQ(stopped.at("choices").at(0).at("finish_reason"), "stop");
  EXPECT_EQ(TextOf(stopped, 1), TextOf(whole, 1));
  EXPECT_EQ(stopped.at("choices").at(1).at("finish_reason"), "length");
  EXPECT_EQ(stopped.at("usage").at("completion_tokens"), 11 + 20);
}

TEST_F(CompletionsTest, AFailureIsTheEndOfAll) {
  Load(EngineRuns::kYes);
  steps_.FailAfter(0);
  ExpectError(*Ask(R"("prompt":["One","Two","Three"])"), 500, "engine_error");
  steps_.FailAfter(6);
  const auto client = Ask(R"("prompt":["One","Two"],"stream":true,"max_tokens":500)");
  EXPECT_EQ(client->Chunks().back().at("error").at("code"), "engine_error");
  RunUntil([this] { return MetricsShow("\nbanyan_running_requests 0\n"); });
}

TEST_F(CompletionsTest, AClientThatLeavesCancelsAllOfItsPrompts) {
  Load(EngineRuns::kYes);
  auto client = Connect();
  steps_.CloseAfter(5);
  client->on_events = [&] {
    client->Leave();
    steps_.Open();
  };
  Begin(*client,
        R"("prompt":["One","Two","Three"],"stream":true,"ignore_eos":true,"max_tokens":2000)");
  RunToTheEnd();
  EXPECT_FALSE(client->finished);
  EXPECT_TRUE(MetricsShow("banyan_requests_total{finish_reason=\"cancelled\"} 3\n"));
  RunUntil([this] {
    return MetricsShow("\nbanyan_running_requests 0\n") &&
           MetricsShow("banyan_kv_pages{state=\"open\"} 0\n");
  });
}

TEST_F(CompletionsTest, AllPromptsAreTakenOrNone) {
  Load(EngineRuns::kNot, /*max_queue=*/3);
  auto first = Connect();
  Begin(*first, R"("prompt":["One","Two"],"max_tokens":1)");
  RunUntil([this] { return engine_->inbox().waiting() == 2; });
  auto second = Connect();
  Begin(*second, R"("prompt":["One","Two"],"max_tokens":1)");
  RunUntil([&] { return second->answer.has_value(); });
  ExpectError(*second, 429, "queue_full");
  EXPECT_NE(RetryAfterOf(*second), "");
  EXPECT_EQ(engine_->inbox().waiting(), 2U);
  engine_->Start();
  RunToTheEnd();
  EXPECT_EQ(first->answer->status, 200);
  EXPECT_EQ(Ask(R"("prompt":["1","2"],"max_tokens":1)")->answer->status, 200);
  EXPECT_EQ(Ask(R"("prompt":["1","2","3"],"max_tokens":1)")->answer->status, 200);
  const auto never = Ask(R"("prompt":["1","2","3","4"],"max_tokens":1)");
  ExpectError(*never, 400, "invalid_request");
  EXPECT_EQ(never->Json().at("error").at("param"), "prompt") << "it would never be taken";
}

TEST_F(CompletionsTest, ChoicesShareTheRoomForWhatIsNotRead) {
  model_.unread_tokens = 100;
  Load(EngineRuns::kYes);
  auto slow = Connect();
  slow->reading = false;
  Begin(*slow, R"("prompt":["One","Two"],"stream":true,"ignore_eos":true,"max_tokens":2000)");
  RunUntil([&] { return !slow->events.empty(); });
  RunUntil([this] {
    return MetricOf("banyan_sampled_tokens_total") > 60 && MetricOf("banyan_running_requests") == 0;
  });
  EXPECT_LT(MetricOf("banyan_sampled_tokens_total"), 300) << "neither had room for 100";
  slow->Read();
  RunToTheEnd();
  EXPECT_EQ(slow->Chunks().back().at("error").at("code"), "slow_reader");
}

// They are held until the answer is complete.
TEST_F(CompletionsTest, LogprobsAreThoseOfABoundedNumberOfTokens) {
  Load(EngineRuns::kNot, /*max_queue=*/5);
  const auto members = [](std::int64_t tokens, const char* more) {
    return absl::StrCat(R"("prompt":["abc","de"],"logprobs":0,"max_tokens":)", tokens, more);
  };
  const auto refused = [&](const std::string& asked) {
    const auto client = Ask(asked);
    ExpectError(*client, 400, "invalid_request");
    EXPECT_EQ(client->Json().at("error").at("param"), "logprobs");
  };
  refused(members(kMaxScoredTokens / 2 + 1, ""));
  refused(members(kMaxScoredTokens / 2 + 1, R"(,"stream":true)"));
  refused(members(kMaxScoredTokens / 2 - 2, R"(,"echo":true)"));
  auto whole = Connect();
  Begin(*whole, members(kMaxScoredTokens / 2, ""));
  auto scored = Connect();
  Begin(*scored, members(kMaxScoredTokens / 2 - 3, R"(,"echo":true)"));
  auto chat = Connect();  // whose context is larger, and which names no length
  EngineTest::Begin(*chat, "/v1/chat/completions",
                    R"({"messages":[{"role":"user","content":"a"}],"logprobs":true})");
  RunUntil([this] { return engine_->inbox().waiting() == 5; });
  for (const auto* client : {&whole, &scored, &chat}) (*client)->Leave();
  engine_->Start();
  RunToTheEnd();
}

struct Fault {
  const char* members;
  const char* code;
  const char* param;
};

TEST_F(CompletionsTest, WhatCannotRunIsRefusedWithItsField) {
  Load(EngineRuns::kYes);
  const std::string long_prompt =
      absl::StrCat("\"prompt\":[\"a\",\"", std::string(9000, 'x'), "\"]");
  for (const Fault& fault :
       {Fault{R"("prompt":"")", "invalid_request", "prompt"},
        Fault{R"("prompt":["a",""])", "invalid_request", "prompt[1]"},
        Fault{R"("prompt":[[97],[999]])", "invalid_request", "prompt[1][0]"},
        Fault{long_prompt.c_str(), "context_length_exceeded", "prompt[1]"},
        Fault{R"("prompt":"a","max_tokens":1048576)", "context_length_exceeded", "max_tokens"},
        Fault{R"("prompt":"a","max_completion_tokens":1048576)", "context_length_exceeded",
              "max_completion_tokens"}}) {
    for (const char* stream : {"", R"(,"stream":true)"}) {
      const auto client = Ask(absl::StrCat(fault.members, stream));
      ExpectError(*client, 400, fault.code);
      EXPECT_EQ(client->Json().at("error").at("param"), fault.param);
    }
  }
}

}  // namespace
}  // namespace banyan::server::openai
