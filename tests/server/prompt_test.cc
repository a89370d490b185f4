#include "server/openai/prompt.h"

#include <cstddef>
#include <string>

#include "gtest/gtest.h"
#include "text/codec.h"

namespace banyan::server::openai {
namespace {

TEST(EncodeChat, AContextsTokensBoundTheBytesBeforeTheyAreEncoded) {
  ServedModel model;
  model.codec = text::Codec::ForBytes();
  model.scheduling.context_length = 100;
  const std::string around = "<|im_start|>user\n<|im_end|>\n<|im_start|>assistant\n";
  const auto encode = [&](std::size_t bytes) {
    text::Conversation conversation;
    conversation.messages.push_back(boost::json::object{
        {"role", "user"}, {"content", std::string(bytes - around.size(), 'x')}});
    return EncodeChat(model, conversation, text::AddedTokens::kAsModelAsks,
                      model.scheduling.context_length);
  };
  // 101 tokens would have at most that many bytes.
  const std::size_t over = 101 * model.codec->longest_token_bytes();
  EXPECT_TRUE(encode(over - 2).ok());
  EXPECT_TRUE(encode(over - 1).ok());
  const auto refused = encode(over);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "context_length_exceeded");
  EXPECT_EQ(refused.error().param, "messages");
}

}  // namespace
}  // namespace banyan::server::openai
