#include "server/openai/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "server/openai/json_text.h"
#include "server/openai/logprobs.h"
#include "text/codec.h"

namespace banyan::server::openai {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TotalUsage SomeUsage() {
  return {.prompt_tokens = 10, .cached_tokens = 9, .output_tokens = 3, .reasoning_tokens = {}};
}

Delta TextDelta(std::string text) {
  return {.text = std::move(text), .reasoning = {}, .entries = {}};
}

class WireTest : public ::testing::Test {
 protected:
  std::unique_ptr<const Format> Chat(const FormatOptions& options = {}) {
    return ChatFormat({"chatcmpl-1", 1700000000, "smol"}, *codec_, options);
  }
  std::unique_ptr<const Format> Completion(const FormatOptions& options = {}) {
    return CompletionFormat({"cmpl-1", 1700000000, "smol"}, *codec_, options);
  }

  std::unique_ptr<const text::Codec> codec_ = text::Codec::ForBytes();
  const FormatOptions with_usage_{.usage = UsageChunk::kLast};
  const FormatOptions with_logprobs_{.logprobs = FormatOptions::Logprobs::kWanted};
  const std::vector<Entry> entries_ = {
      {.token = 'a', .log_probability = -0.25F, .top = {{'a', -0.25F}, {257, -2.0F}}, .offset = 0}};
};

TEST_F(WireTest, AWholeChatAnswer) {
  const std::vector<Outcome> outcomes = {{TextDelta("a\"b\n"), "stop"}};
  EXPECT_EQ(Chat()->Whole(outcomes, SomeUsage()),
            R"({"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"smol",)"
            R"("choices":[{"index":0,"message":{"role":"assistant","content":"a\"b\n",)"
            R"("refusal":null},"logprobs":null,"finish_reason":"stop"}],)"
            R"("usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13,)"
            R"("prompt_tokens_details":{"cached_tokens":9}}})");
}

TEST_F(WireTest, TheChunksOfAChat) {
  const std::string head =
      R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"smol",)";
  EXPECT_EQ(Chat()->Opening(),
            head + R"("choices":[{"index":0,"delta":{"role":"assistant","content":""},)"
                   R"("logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(Chat()->Chunk(0, TextDelta("é")),
            head + R"("choices":[{"index":0,"delta":{"content":"é"},)"
                   R"("logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(Chat()->Finish(0, "length"), head + R"("choices":[{"index":0,"delta":{},)"
                                                R"("logprobs":null,"finish_reason":"length"}]})");
  EXPECT_FALSE(Chat()->Usage(SomeUsage()));
}

TEST_F(WireTest, WithAUsageChunkTheOthersSayThatTheyAreNotIt) {
  EXPECT_THAT(*Chat(with_usage_)->Opening(), EndsWith(",\"usage\":null}"));
  EXPECT_THAT(Chat(with_usage_)->Chunk(0, TextDelta("x")), EndsWith(",\"usage\":null}"));
  EXPECT_THAT(Completion(with_usage_)->Finish(0, "stop"), EndsWith(",\"usage\":null}"));
  EXPECT_EQ(Chat(with_usage_)->Usage(SomeUsage()),
            R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,)"
            R"("model":"smol","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,)"
            R"("total_tokens":13,"prompt_tokens_details":{"cached_tokens":9}}})");
}

TEST_F(WireTest, ReasoningIsBesideTheContent) {
  const Delta both{.text = "Yes.", .reasoning = "Hm.", .entries = {}};
  const std::vector<Outcome> outcomes = {{both, "stop"}};
  TotalUsage usage = SomeUsage();
  usage.reasoning_tokens = 2;
  EXPECT_THAT(Chat()->Whole(outcomes, usage),
              HasSubstr(R"("content":"Yes.","reasoning_content":"Hm.","refusal":null)"));
  EXPECT_THAT(Chat()->Whole(outcomes, usage),
              HasSubstr(R"("completion_tokens_details":{"reasoning_tokens":2}})"));
  EXPECT_THAT(Chat()->Chunk(0, {.text = "", .reasoning = "Hm.", .entries = {}}),
              HasSubstr(R"("delta":{"reasoning_content":"Hm."})"));
  EXPECT_THAT(Chat()->Chunk(0, both),
              HasSubstr(R"("delta":{"reasoning_content":"Hm.","content":"Yes."})"));
}

TEST_F(WireTest, WholeCompletionsAreNumbered) {
  const std::vector<Outcome> outcomes = {{TextDelta("a"), "stop"}, {TextDelta("b"), "length"}};
  EXPECT_EQ(Completion()->Whole(outcomes, SomeUsage()),
            R"({"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"smol",)"
            R"("choices":[{"index":0,"text":"a","logprobs":null,"finish_reason":"stop"},)"
            R"({"index":1,"text":"b","logprobs":null,"finish_reason":"length"}],)"
            R"("usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13,)"
            R"("prompt_tokens_details":{"cached_tokens":9}}})");
}

TEST_F(WireTest, TheChunksOfACompletion) {
  const std::string head =
      R"({"id":"cmpl-1","object":"text_completion","created":1700000000,"model":"smol",)";
  EXPECT_FALSE(Completion()->Opening());
  EXPECT_EQ(Completion()->Chunk(3, TextDelta("é")),
            head + R"("choices":[{"index":3,"text":"é","logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(
      Completion()->Finish(3, "length"),
      head + R"("choices":[{"index":3,"text":"","logprobs":null,"finish_reason":"length"}]})");
}

TEST_F(WireTest, LogprobsOfAChat) {
  const std::string logprobs =
      R"("logprobs":{"content":[{"token":"a","logprob":-0.25,"bytes":[97],"top_logprobs":[)"
      R"({"token":"a","logprob":-0.25,"bytes":[97]},)"
      R"({"token":"<|im_end|>","logprob":-2,"bytes":null}]}],"refusal":null})";
  const Delta delta{.text = "a", .reasoning = "", .entries = entries_};
  const std::vector<Outcome> outcomes = {{delta, "stop"}};
  EXPECT_THAT(Chat(with_logprobs_)->Whole(outcomes, SomeUsage()), HasSubstr(logprobs));
  EXPECT_THAT(Chat(with_logprobs_)->Chunk(0, delta), HasSubstr(logprobs));
  EXPECT_THAT(*Chat(with_logprobs_)->Opening(), HasSubstr(R"("logprobs":null)"));
  const std::vector<Outcome> nothing = {{Delta(), "length"}};
  EXPECT_THAT(Chat(with_logprobs_)->Whole(nothing, SomeUsage()),
              HasSubstr(R"("logprobs":{"content":[],"refusal":null})"));
}

TEST_F(WireTest, LogprobsOfACompletionHaveTheTokenAmongItsAlternatives) {
  EXPECT_EQ(CompletionLogprobs(*codec_, entries_),
            R"({"tokens":["a"],"token_logprobs":[-0.25],)"
            R"("top_logprobs":[{"a":-0.25,"<|im_end|>":-2}],"text_offset":[0]})");
  const std::vector<Entry> others = {
      {.token = 'p', .log_probability = std::nullopt, .top = {}, .offset = 0},
      {.token = 'z', .log_probability = -7.5F, .top = {{'a', -0.5F}}, .offset = 1}};
  EXPECT_EQ(CompletionLogprobs(*codec_, others),
            R"({"tokens":["p","z"],"token_logprobs":[null,-7.5],)"
            R"("top_logprobs":[null,{"a":-0.5,"z":-7.5}],"text_offset":[0,1]})");
}

TEST_F(WireTest, BytesThatAreNoCharacterAreExact) {
  const std::vector<Entry> part = {{.token = 0xE6,
                                    .log_probability = -1.0F,
                                    .top = {{0xE6, -1.0F}, {0xE7, -2.0F}},
                                    .offset = 0}};
  const boost::json::value chat = boost::json::parse(ChatLogprobs(*codec_, part));
  EXPECT_EQ(chat.at("content").at(0).at("token"), "\xEF\xBF\xBD");
  EXPECT_EQ(chat.at("content").at(0).at("bytes"), boost::json::array{0xE6});
  const boost::json::value completion = boost::json::parse(CompletionLogprobs(*codec_, part));
  EXPECT_EQ(completion.at("tokens").at(0), "bytes:\\xe6");
  EXPECT_EQ(completion.at("top_logprobs").at(0).as_object().size(), 2U) << "keys stay apart";
}

TEST_F(WireTest, WhatHasNoProbabilityIsANumberAllTheSame) {
  for (const float none : {-kInfinity, -1e30F, std::numeric_limits<float>::quiet_NaN()}) {
    const std::vector<Entry> entries = {
        {.token = 'a', .log_probability = none, .top = {}, .offset = 0}};
    EXPECT_THAT(ChatLogprobs(*codec_, entries), HasSubstr(R"("logprob":-9999,)"));
    EXPECT_THAT(CompletionLogprobs(*codec_, entries), HasSubstr(R"([{"a":-9999}])"));
  }
}

TEST(JsonText, NumbersReadAsTheSameFloat) {
  for (const float value : {-0.1F, -1e-7F, 0.0F, -0.0F, -123.456F, -9999.0F}) {
    EXPECT_EQ(static_cast<float>(boost::json::parse(Number(value)).to_number<double>()), value);
  }
}

TEST(JsonText, StringsAreEscaped) { EXPECT_EQ(Quoted("a\"\\\n\x01é"), R"("a\"\\\n\u0001é")"); }

}  // namespace
}  // namespace banyan::server::openai
