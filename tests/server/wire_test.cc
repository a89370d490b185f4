#include "server/openai/wire.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/openai/answer.h"
#include "text/codec.h"

namespace banyan::server::openai {
namespace {

const AnswerHead kHead{"chatcmpl-1", 1700000000, "smol"};

scheduler::Usage SomeUsage() {
  scheduler::Usage usage;
  usage.prompt_tokens = 10;
  usage.cached_tokens = 9;
  usage.output_tokens = 3;
  return usage;
}

TEST(Wire, AWholeAnswer) {
  EXPECT_EQ(CompletionJson(kHead, "a\"b\n", "stop", SomeUsage()),
            R"({"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"smol",)"
            R"("choices":[{"index":0,"message":{"role":"assistant","content":"a\"b\n",)"
            R"("refusal":null},"logprobs":null,"finish_reason":"stop"}],)"
            R"("usage":{"prompt_tokens":10,"completion_tokens":3,"total_tokens":13,)"
            R"("prompt_tokens_details":{"cached_tokens":9}}})");
}

TEST(Wire, TheChunksOfAStream) {
  const std::string head =
      R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"smol",)";
  EXPECT_EQ(RoleChunkJson(kHead, UsageChunk::kNone),
            head + R"("choices":[{"index":0,"delta":{"role":"assistant","content":""},)"
                   R"("logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(TextChunkJson(kHead, UsageChunk::kNone, "é"),
            head + R"("choices":[{"index":0,"delta":{"content":"é"},)"
                   R"("logprobs":null,"finish_reason":null}]})");
  EXPECT_EQ(FinishChunkJson(kHead, UsageChunk::kNone, "length"),
            head + R"("choices":[{"index":0,"delta":{},)"
                   R"("logprobs":null,"finish_reason":"length"}]})");
}

TEST(Wire, WithAUsageChunkTheOthersSayThatTheyAreNotIt) {
  EXPECT_THAT(TextChunkJson(kHead, UsageChunk::kLast, "x"),
              ::testing::EndsWith(",\"usage\":null}"));
  EXPECT_EQ(UsageChunkJson(kHead, SomeUsage()),
            R"({"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,)"
            R"("model":"smol","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":3,)"
            R"("total_tokens":13,"prompt_tokens_details":{"cached_tokens":9}}})");
}

// Bytes are tokens here, so that a text is its own token ids.
class AnswerTest : public ::testing::Test {
 protected:
  std::string Push(Answer& answer, std::string_view bytes) {
    std::string text;
    const auto tokens = codec_->Encode(bytes, text::ControlTokens::kPlainText);
    for (TokenId token : *tokens) text += answer.Push(token);
    return text;
  }

  std::unique_ptr<const text::Codec> codec_ = text::Codec::ForBytes();
};

TEST_F(AnswerTest, TextComesInWholeCharacters) {
  Answer answer(*codec_, {});
  const auto tokens = *codec_->Encode("é!", text::ControlTokens::kPlainText);
  ASSERT_EQ(tokens.size(), 3U);
  EXPECT_EQ(answer.Push(tokens[0]), "");
  EXPECT_EQ(answer.Push(tokens[1]), "é");
  EXPECT_EQ(answer.Push(tokens[2]), "!");
  EXPECT_EQ(answer.Finish(), "");
  EXPECT_EQ(answer.tokens(), 3);
}

TEST_F(AnswerTest, AStopStringEndsTheTextBeforeItAndTheCountAfterIt) {
  Answer answer(*codec_, {"END"});
  EXPECT_EQ(Push(answer, "ab EN"), "ab ");
  EXPECT_FALSE(answer.stopped());
  EXPECT_EQ(Push(answer, "D and more"), "");
  EXPECT_TRUE(answer.stopped());
  EXPECT_EQ(answer.tokens(), 6) << "the tokens after the stop string do not count";
  EXPECT_EQ(answer.Finish(), "");
}

TEST_F(AnswerTest, WhatOnlyBeganAStopStringComesAtTheEnd) {
  Answer answer(*codec_, {"END"});
  EXPECT_EQ(Push(answer, "xEN"), "x");
  EXPECT_EQ(answer.Finish(), "EN");
  EXPECT_FALSE(answer.stopped());
}

}  // namespace
}  // namespace banyan::server::openai
