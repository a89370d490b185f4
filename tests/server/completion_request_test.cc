#include "server/openai/completion_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace banyan::server::openai {
namespace {

using ::testing::ElementsAre;
using Tokens = std::vector<TokenId>;

Result<CompletionRequest> Parse(const std::string& members) {
  return ParseCompletionRequest(absl::StrCat("{", members, "}"), "smol", /*vocabulary_size=*/1000);
}

CompletionRequest Accepted(const std::string& members) {
  Result<CompletionRequest> request = Parse(members);
  if (request.ok()) return *request;
  ADD_FAILURE() << members << ": " << request.error().message;
  return {};
}

std::string ParamOf(const std::string& members) {
  Result<CompletionRequest> request = Parse(members);
  if (request.ok()) {
    ADD_FAILURE() << "accepted: " << members;
    return {};
  }
  EXPECT_EQ(request.error().status, 400);
  EXPECT_EQ(request.error().code, "invalid_request");
  EXPECT_FALSE(request.error().message.empty());
  return request.error().param;
}

TEST(CompletionRequest, APromptIsAText) {
  const CompletionRequest request = Accepted(R"("prompt":"Hi")");
  ASSERT_EQ(request.prompts.size(), 1U);
  EXPECT_EQ(request.prompts[0].field, "prompt");
  EXPECT_EQ(std::get<std::string>(request.prompts[0].given), "Hi");
  EXPECT_FALSE(request.echo);
  EXPECT_EQ(request.added, text::AddedTokens::kAsModelAsks);
  EXPECT_EQ(Accepted(R"("prompt":"Hi","add_special_tokens":false)").added,
            text::AddedTokens::kNone);
}

TEST(CompletionRequest, OrSeveralTexts) {
  const CompletionRequest request = Accepted(R"("prompt":["a",""],"echo":true)");
  ASSERT_EQ(request.prompts.size(), 2U);
  EXPECT_EQ(std::get<std::string>(request.prompts[0].given), "a");
  EXPECT_EQ(request.prompts[1].field, "prompt[1]");
  EXPECT_EQ(std::get<std::string>(request.prompts[1].given), "");
  EXPECT_TRUE(request.echo);
}

TEST(CompletionRequest, OrTokens) {
  const CompletionRequest request = Accepted(R"("prompt":[0,999])");
  ASSERT_EQ(request.prompts.size(), 1U);
  EXPECT_EQ(request.prompts[0].field, "prompt");
  EXPECT_THAT(std::get<Tokens>(request.prompts[0].given), ElementsAre(0, 999));
}

TEST(CompletionRequest, OrSeveralListsOfTokensAmongTexts) {
  const CompletionRequest request = Accepted(R"("prompt":[[1,2],"a",[3]])");
  ASSERT_EQ(request.prompts.size(), 3U);
  EXPECT_THAT(std::get<Tokens>(request.prompts[0].given), ElementsAre(1, 2));
  EXPECT_EQ(std::get<std::string>(request.prompts[1].given), "a");
  EXPECT_THAT(std::get<Tokens>(request.prompts[2].given), ElementsAre(3));
}

TEST(CompletionRequest, OtherPromptsAreRefused) {
  EXPECT_EQ(ParamOf(""), "prompt");
  EXPECT_EQ(ParamOf(R"("prompt":null)"), "prompt");
  EXPECT_EQ(ParamOf(R"("prompt":7)"), "prompt");
  EXPECT_EQ(ParamOf(R"("prompt":{})"), "prompt");
  EXPECT_EQ(ParamOf(R"("prompt":[])"), "prompt");
  EXPECT_EQ(ParamOf(R"("prompt":[true])"), "prompt[0]");
  EXPECT_EQ(ParamOf(R"("prompt":[[]])"), "prompt[0]");
  EXPECT_EQ(ParamOf(R"("prompt":["a",7])"), "prompt[1]");
  EXPECT_EQ(ParamOf(R"("prompt":[7,"a"])"), "prompt[1]");
  EXPECT_EQ(ParamOf(R"("prompt":[7,1000])"), "prompt[1]");
  EXPECT_EQ(ParamOf(R"("prompt":[-1])"), "prompt[0]");
  EXPECT_EQ(ParamOf(R"("prompt":[1.5])"), "prompt[0]");
  EXPECT_EQ(ParamOf(R"("prompt":[[1],[2,1000]])"), "prompt[1][1]");
  EXPECT_EQ(ParamOf(R"("prompt":[[1],[[2]]])"), "prompt[1][0]");
}

std::string Prompts(std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) absl::StrAppend(&list, i ? "," : "", "\"p\"");
  return absl::StrCat("\"prompt\":[", list, "]");
}

TEST(CompletionRequest, TheNumberOfPromptsIsBounded) {
  EXPECT_EQ(Accepted(Prompts(kMaxPrompts - 1)).prompts.size(), kMaxPrompts - 1);
  EXPECT_EQ(Accepted(Prompts(kMaxPrompts)).prompts.size(), kMaxPrompts);
  EXPECT_EQ(ParamOf(Prompts(kMaxPrompts + 1)), "prompt");
}

TEST(CompletionRequest, LogprobsAreTheNumberOfAlternatives) {
  EXPECT_FALSE(Accepted(R"("prompt":"a","logprobs":null)").generation.logprobs);
  for (const int logprobs : {0, 1, 5, 19, 20}) {
    EXPECT_EQ(Accepted(absl::StrCat(R"("prompt":"a","logprobs":)", logprobs)).generation.logprobs,
              logprobs);
  }
  EXPECT_EQ(ParamOf(R"("prompt":"a","logprobs":21)"), "logprobs");
  EXPECT_EQ(ParamOf(R"("prompt":"a","logprobs":-1)"), "logprobs");
  EXPECT_EQ(ParamOf(R"("prompt":"a","logprobs":true)"), "logprobs");
}

TEST(CompletionRequest, WhatBelongsToChatsIsRefusedByName) {
  EXPECT_EQ(ParamOf(R"("prompt":"a","top_logprobs":2)"), "top_logprobs");
  EXPECT_EQ(ParamOf(R"("prompt":"a","tools":[{}])"), "tools");
  EXPECT_EQ(ParamOf(R"("prompt":"a","chat_template_kwargs":{"x":1})"), "chat_template_kwargs");
  EXPECT_EQ(ParamOf(R"("prompt":"a","echo":1)"), "echo");
}

}  // namespace
}  // namespace banyan::server::openai
