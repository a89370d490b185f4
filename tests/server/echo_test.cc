#include "server/openai/echo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "text/codec.h"

namespace banyan::server::openai {
namespace {

using ::testing::ElementsAre;

class EchoTest : public ::testing::Test {
 protected:
  // A byte is a token of its own, a control token is one.
  std::vector<TokenId> Tokens(const std::string& text) {
    return *codec_->Encode(text, text::ControlTokens::kRecognize);
  }
  std::vector<std::int64_t> Offsets(const std::string& text, const std::vector<TokenId>& prompt) {
    std::vector<std::int64_t> offsets;
    for (const Entry& entry :
         Echo(*codec_, text, prompt).Tell(std::vector<ScoredToken>(prompt.size() - 1)).entries) {
      offsets.push_back(entry.offset);
    }
    return offsets;
  }

  std::unique_ptr<const text::Codec> codec_ = text::Codec::ForBytes();
};

TEST_F(EchoTest, TheFirstTokenHasNoProbability) {
  const Echo echo(*codec_, "ab", Tokens("ab"));
  const Delta delta = echo.Tell({{.token = 'b',
                                  .log_probability = -0.5F,
                                  .top = {{.token = 'x', .log_probability = -0.1F}}}});
  EXPECT_EQ(delta.text, "ab");
  ASSERT_EQ(delta.entries.size(), 2U);
  EXPECT_EQ(delta.entries[0].token, 'a');
  EXPECT_FALSE(delta.entries[0].log_probability);
  EXPECT_EQ(delta.entries[1].token, 'b');
  EXPECT_EQ(delta.entries[1].log_probability, -0.5F);
  EXPECT_EQ(delta.entries[1].top.at(0).token, 'x');
  EXPECT_TRUE(echo.Tell().entries.empty());
  EXPECT_EQ(echo.Tell().text, "ab");
}

TEST_F(EchoTest, OffsetsCountCharacters) {
  EXPECT_THAT(Offsets("aé!", Tokens("aé!")), ElementsAre(0, 1, 1, 2));
  EXPECT_EQ(Echo(*codec_, "aé!", Tokens("aé!")).characters(), 3);
}

TEST_F(EchoTest, ControlTokensThatAreSpelledInThePromptCount) {
  EXPECT_THAT(Offsets("a<|im_end|>b", Tokens("a<|im_end|>b")), ElementsAre(0, 1, 11));
}

TEST_F(EchoTest, TokensThatEncodingAddedAreNotInTheText) {
  std::vector<TokenId> prompt = Tokens("<|endoftext|>ab");
  EXPECT_THAT(Offsets("ab", prompt), ElementsAre(0, 0, 1));
  prompt.push_back(prompt.front());
  EXPECT_THAT(Offsets("ab", prompt), ElementsAre(0, 0, 1, 2));
}

TEST_F(EchoTest, NorIsTheSpaceThatEncodingPutBefore) {
  EXPECT_THAT(Offsets("ab", Tokens(" ab")), ElementsAre(0, 0, 1));
}

TEST_F(EchoTest, BytesThatAreNoTextAreReplacementCharacters) {
  const std::vector<TokenId> prompt = {0xFF, 'a', 0xE6};
  EXPECT_THAT(Offsets("\xEF\xBF\xBD"
                      "a\xEF\xBF\xBD",
                      prompt),
              ElementsAre(0, 1, 2));
}

TEST_F(EchoTest, ATextThatTheTokenizerRewroteHasOffsetsWithinIt) {
  EXPECT_THAT(Offsets("X", Tokens("abc")), ElementsAre(0, 1, 1));
}

}  // namespace
}  // namespace banyan::server::openai
