// The texts that passkeys are hidden in, and when a key counts as found.
#include "server/eval/passkey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace banyan::server {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(PasskeyLengths, AreQuarterHalfAndWhole) {
  EXPECT_THAT(PasskeyLengths(2048), ElementsAre(512, 1024, 2048));
  EXPECT_THAT(PasskeyLengths(4 * kMinPasskeyTokens), ElementsAre(128, 256, 512));
  EXPECT_THAT(PasskeyLengths(4 * kMinPasskeyTokens - 1), ElementsAre(255, 511));
  EXPECT_THAT(PasskeyLengths(kMinPasskeyTokens), ElementsAre(128));
  EXPECT_THAT(PasskeyLengths(kMinPasskeyTokens - 1), IsEmpty());
}

TEST(GivesKey, TheFirstNumberOfTheAnswerIsTheKey) {
  EXPECT_TRUE(GivesKey(" 12345. Remember", "12345"));
  EXPECT_TRUE(GivesKey("12345", "12345"));
  EXPECT_TRUE(GivesKey("\n12345\n", "12345"));
  EXPECT_FALSE(GivesKey(" 123456", "12345"));
  EXPECT_FALSE(GivesKey(" 1234", "12345"));
  EXPECT_FALSE(GivesKey(" hidden: 12345", "12345"));
  EXPECT_FALSE(GivesKey("", "12345"));
  EXPECT_FALSE(GivesKey("  ", "12345"));
}

class PasskeyPromptsTest : public ::testing::Test {
 protected:
  const std::unique_ptr<const text::Codec> codec_ = text::Codec::ForBytes();
};

TEST_F(PasskeyPromptsTest, FillTheirLengthsWithTheKeyAtItsDepth) {
  const std::vector<std::int64_t> lengths = {1000, 3000};
  const auto prompts = PasskeyPrompts(*codec_, lengths, 2);
  ASSERT_TRUE(prompts.ok()) << prompts.status();
  ASSERT_EQ(prompts->size(), 2 * kPasskeyDepths.size() * 2);
  std::set<std::string> keys;
  for (const PasskeyPrompt& prompt : *prompts) {
    const auto size = static_cast<std::int64_t>(prompt.tokens.size());
    EXPECT_LE(size + prompt.answer_tokens, prompt.length);
    EXPECT_GT(size + prompt.answer_tokens, prompt.length - 100) << "one more sentence would fit";
    EXPECT_GE(prompt.answer_tokens, 6);
    const std::string text = codec_->Decode(prompt.tokens);
    EXPECT_THAT(text, EndsWith("The pass key is"));
    const std::size_t at = text.find(prompt.key);
    ASSERT_NE(at, std::string::npos);
    // The task before and the question after it are not part of the depth.
    EXPECT_NEAR(100.0 * static_cast<double>(at) / static_cast<double>(size), prompt.depth, 30);
    EXPECT_EQ(prompt.key.size(), 5U);
    keys.insert(prompt.key);
  }
  EXPECT_EQ(keys.size(), prompts->size()) << "all keys differ";
}

TEST_F(PasskeyPromptsTest, TheDeepestIsBehindAllOtherText) {
  const std::vector<std::int64_t> lengths = {2000};
  const auto prompts = PasskeyPrompts(*codec_, lengths, 1);
  ASSERT_TRUE(prompts.ok()) << prompts.status();
  const std::string first = codec_->Decode(prompts->front().tokens);
  const std::string last = codec_->Decode(prompts->back().tokens);
  EXPECT_LT(first.find(prompts->front().key), first.find("The grass is green"));
  EXPECT_GT(last.find(prompts->back().key), last.rfind("There and back again."));
}

TEST_F(PasskeyPromptsTest, ALengthThatHoldsNoKeyIsAnError) {
  const std::vector<std::int64_t> lengths = {128};  // bytes, with this codec
  const auto prompts = PasskeyPrompts(*codec_, lengths, 1);
  EXPECT_THAT(prompts.status().message(), HasSubstr("128"));
}

TEST_F(PasskeyPromptsTest, NoneAreMadeWhereNoneAreAskedFor) {
  const std::vector<std::int64_t> lengths = {128};
  const auto prompts = PasskeyPrompts(*codec_, lengths, 0);
  ASSERT_TRUE(prompts.ok()) << prompts.status();
  EXPECT_THAT(*prompts, IsEmpty());
}

}  // namespace
}  // namespace banyan::server
