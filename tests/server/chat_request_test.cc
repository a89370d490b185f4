#include "server/openai/chat_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/openai/conversation.h"
#include "server/openai/strict_json.h"

namespace banyan::server::openai {
namespace {

using ::testing::HasSubstr;

constexpr const char* kHello = R"("messages":[{"role":"user","content":"Hi"}])";
constexpr std::int64_t kNow = 1'700'000'000;

// A request that is good but for `members`.
std::string With(const std::string& members) {
  return absl::StrCat("{", kHello, members.empty() ? "" : ",", members, "}");
}

Result<ChatRequest> Parse(const std::string& body) {
  return ParseChatRequest(body, "smol", /*vocabulary_size=*/1000, kNow);
}

ChatRequest Accepted(const std::string& body) {
  Result<ChatRequest> request = Parse(body);
  if (request.ok()) return *request;
  ADD_FAILURE() << body << ": " << request.error().message;
  return {};
}

http::Error Refused(const std::string& body) {
  Result<ChatRequest> request = Parse(body);
  if (!request.ok()) return request.error();
  ADD_FAILURE() << "accepted: " << body;
  return {};
}

// The messages as the template sees them.
std::string Messages(const std::string& list) {
  return boost::json::serialize(
      Accepted(absl::StrCat(R"({"messages":[)", list, "]}")).conversation.messages);
}

TEST(ChatRequest, AConversationIsItsMessages) {
  const ChatRequest request = Accepted(With(""));
  EXPECT_EQ(boost::json::serialize(request.conversation.messages),
            R"([{"role":"user","content":"Hi"}])");
  EXPECT_TRUE(request.conversation.tools.empty());
  EXPECT_TRUE(request.conversation.arguments.empty());
  EXPECT_TRUE(request.conversation.add_generation_prompt);
  EXPECT_EQ(request.conversation.now, kNow);
  EXPECT_EQ(request.added, text::AddedTokens::kAsModelAsks);
}

TEST(ChatRequest, ContentPartsAreJoined) {
  EXPECT_EQ(Messages(R"({"role":"system","content":[{"type":"text","text":"a"},)"
                     R"({"type":"text","text":"b"}]},{"role":"assistant","content":""})"),
            R"([{"role":"system","content":"ab"},{"role":"assistant","content":""}])");
}

TEST(ChatRequest, RolesAreTheTemplatesBusiness) {
  EXPECT_EQ(Messages(R"({"role":"pope","content":"Hi"})"), R"([{"role":"pope","content":"Hi"}])");
  EXPECT_EQ(Messages(R"({"role":"developer","content":"Be brief."})"),
            R"([{"role":"system","content":"Be brief."}])");
}

TEST(ChatRequest, AnAssistantMayHaveSaidNothing) {
  EXPECT_EQ(Messages(R"({"role":"assistant","content":null})"),
            R"([{"role":"assistant","content":""}])");
  EXPECT_EQ(Messages(R"({"role":"assistant"})"), R"([{"role":"assistant","content":""}])");
}

TEST(ChatRequest, WhatElseAMessageSaysIsHandedToTheTemplate) {
  EXPECT_EQ(
      Messages(R"({"role":"assistant","content":null,"reasoning_content":"hm","name":"A","x":[1],)"
               R"("refusal":null,"audio":null},)"
               R"({"role":"tool","content":"7","tool_call_id":"c1"})"),
      R"([{"role":"assistant","content":"","reasoning_content":"hm","name":"A","x":[1]},)"
      R"({"role":"tool","content":"7","tool_call_id":"c1"}])");
}

TEST(ChatRequest, TheArgumentsOfToolCallsAreObjects) {
  const auto call = [](const std::string& arguments) {
    return absl::StrCat(R"({"role":"assistant","content":"","tool_calls":[{"id":"c1",)"
                        R"("type":"function","function":{"name":"f","arguments":)",
                        arguments, "}}]}");
  };
  EXPECT_EQ(Messages(call(R"("{\"a\": [1, {}]}")")),
            absl::StrCat("[", call(R"({"a":[1,{}]})"), "]"));
  EXPECT_EQ(Messages(call(R"("")")), absl::StrCat("[", call("{}"), "]"));
  for (const char* as_it_is : {R"({"a":1})", R"("not JSON")", R"("[1]")"}) {
    EXPECT_EQ(Messages(call(as_it_is)), absl::StrCat("[", call(as_it_is), "]"));
  }
}

// Each string of arguments may be as large as a body.
TEST(ChatRequest, TheArgumentsOfAllToolCallsTogetherAreBounded) {
  const auto message = [](std::size_t values) {  // in the list alone
    std::string list;
    for (std::size_t i = 0; i < values; ++i) list += i == 0 ? "1" : ",1";
    return absl::StrCat(R"({"role":"assistant","content":"","tool_calls":[{"function":)",
                        R"({"arguments":"{\"a\":[)", list, R"(]}"}}]})");
  };
  const auto conversation = [&](std::size_t values) {
    return absl::StrCat(R"({"messages":[)", message(kMaxJsonValues / 2), ",", message(values),
                        "]}");
  };
  // Four more: two lists, two objects.
  Accepted(conversation(kMaxJsonValues / 2 - 5));
  EXPECT_EQ(Refused(conversation(kMaxJsonValues / 2 - 4)).param, "messages[1].tool_calls");
}

TEST(ChatRequest, ToolsAreShownToTheTemplateWhenNoneIsToBeCalled) {
  const char* tools = R"("tools":[{"type":"function","function":{"name":"f"}}])";
  EXPECT_EQ(Refused(With(tools)).param, "tools");
  EXPECT_EQ(Refused(With(absl::StrCat(tools, R"(,"tool_choice":"auto")"))).param, "tool_choice");
  EXPECT_EQ(Refused(With(R"("tool_choice":"auto")")).param, "tool_choice");
  EXPECT_EQ(Refused(With(R"("tool_choice":{"type":"function"})")).param, "tool_choice");
  const ChatRequest request = Accepted(With(absl::StrCat(tools, R"(,"tool_choice":"none")")));
  EXPECT_EQ(boost::json::serialize(request.conversation.tools),
            R"([{"type":"function","function":{"name":"f"}}])");
}

TEST(ChatRequest, TheTemplateTakesArguments) {
  const ChatRequest request = Accepted(
      With(R"("chat_template_kwargs":{"enable_thinking":false},"add_generation_prompt":false)"));
  EXPECT_EQ(request.conversation.arguments.at("enable_thinking"), false);
  EXPECT_FALSE(request.conversation.add_generation_prompt);
  EXPECT_EQ(Accepted(With(R"("add_special_tokens":false)")).added, text::AddedTokens::kNone);
}

std::string Members(std::size_t count) {
  std::string members;
  for (std::size_t i = 0; i < count; ++i) absl::StrAppend(&members, i ? "," : "", "\"k", i, "\":1");
  return absl::StrCat(R"("chat_template_kwargs":{)", members, "}");
}

std::string Tools(std::size_t count) {
  std::string tools;
  for (std::size_t i = 0; i < count; ++i) absl::StrAppend(&tools, i ? ",{}" : "{}");
  return absl::StrCat(R"("tool_choice":"none","tools":[)", tools, "]");
}

TEST(ChatRequest, WhatTheTemplateIsGivenIsBounded) {
  Accepted(With(Members(kMaxTemplateArguments - 1)));
  Accepted(With(Members(kMaxTemplateArguments)));
  EXPECT_EQ(Refused(With(Members(kMaxTemplateArguments + 1))).param, "chat_template_kwargs");
  Accepted(With(Tools(kMaxTools - 1)));
  Accepted(With(Tools(kMaxTools)));
  EXPECT_EQ(Refused(With(Tools(kMaxTools + 1))).param, "tools");
}

TEST(ChatRequest, LogprobsAreWantedBeforeTheirAlternativesAre) {
  EXPECT_FALSE(Accepted(With(R"("logprobs":false,"top_logprobs":0)")).generation.logprobs);
  EXPECT_EQ(Accepted(With(R"("logprobs":true)")).generation.logprobs, 0);
  EXPECT_EQ(Accepted(With(R"("logprobs":true,"top_logprobs":19)")).generation.logprobs, 19);
  EXPECT_EQ(Accepted(With(R"("logprobs":true,"top_logprobs":20)")).generation.logprobs, 20);
  EXPECT_EQ(Refused(With(R"("logprobs":true,"top_logprobs":21)")).param, "top_logprobs");
  EXPECT_EQ(Refused(With(R"("logprobs":true,"top_logprobs":-1)")).param, "top_logprobs");
  EXPECT_EQ(Refused(With(R"("top_logprobs":2)")).param, "top_logprobs");
  EXPECT_EQ(Refused(With(R"("logprobs":false,"top_logprobs":2)")).param, "top_logprobs");
  EXPECT_EQ(Refused(With(R"("logprobs":5)")).param, "logprobs");
}

struct Bad {
  const char* body;
  const char* param;
};

class BadChatRequest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadChatRequest, IsRefusedWithItsParam) {
  const std::string body = GetParam().body;
  const http::Error error = Refused(body[0] == '{' ? body : With(body));
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.code, "invalid_request");
  EXPECT_EQ(error.param, GetParam().param);
  EXPECT_FALSE(error.message.empty());
}

INSTANTIATE_TEST_SUITE_P(
    Types, BadChatRequest,
    ::testing::Values(
        Bad{"{}", "messages"}, Bad{R"({"messages":[]})", "messages"},
        Bad{R"({"messages":"Hi"})", "messages"}, Bad{R"({"messages":null})", "messages"},
        Bad{R"({"messages":["Hi"]})", "messages[0]"},
        Bad{R"({"messages":[{"content":"Hi"}]})", "messages[0].role"},
        Bad{R"({"messages":[{"role":7,"content":"Hi"}]})", "messages[0].role"},
        Bad{R"({"messages":[{"role":null,"content":"Hi"}]})", "messages[0].role"},
        Bad{R"({"messages":[{"role":"user"}]})", "messages[0].content"},
        Bad{R"({"messages":[{"role":"user","content":null}]})", "messages[0].content"},
        Bad{R"({"messages":[{"role":"tool","tool_call_id":"c"}]})", "messages[0].content"},
        Bad{R"({"messages":[{"role":"user","content":"a"},{"role":"user","content":7}]})",
            "messages[1].content"},
        Bad{R"({"messages":[{"role":"user","content":[]}]})", "messages[0].content"},
        Bad{R"({"messages":[{"role":"user","content":["a"]}]})", "messages[0].content[0]"},
        Bad{R"({"messages":[{"role":"user","content":[{"text":"a"}]}]})",
            "messages[0].content[0].type"},
        Bad{R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},)"
            R"({"type":"image_url","image_url":{"url":"x"}}]}]})",
            "messages[0].content[1].type"},
        Bad{R"({"messages":[{"role":"user","content":[{"type":"text","text":1}]}]})",
            "messages[0].content[0].text"},
        Bad{R"({"messages":[{"role":"assistant","content":"","tool_calls":{}}]})",
            "messages[0].tool_calls"},
        Bad{R"({"messages":[{"role":"assistant","content":"","tool_calls":[{},1]}]})",
            "messages[0].tool_calls[1]"},
        Bad{R"({"messages":[{"role":"user","content":"","name":1}]})", "messages[0].name"},
        Bad{R"({"messages":[{"role":"tool","content":"","tool_call_id":1}]})",
            "messages[0].tool_call_id"},
        Bad{R"({"messages":[{"role":"assistant","reasoning_content":[]}]})",
            "messages[0].reasoning_content"},
        Bad{R"({"messages":[{"role":"assistant","function_call":{"name":"f"}}]})",
            "messages[0].function_call"},
        Bad{R"({"messages":[{"role":"assistant","content":"a","prefix":true}]})",
            "messages[0].prefix"},
        Bad{R"("tools":{})", "tools"}, Bad{R"("tools":[{},1],"tool_choice":"none")", "tools[1]"},
        Bad{R"("chat_template_kwargs":[])", "chat_template_kwargs"},
        Bad{R"("chat_template_kwargs":{"messages":[]})", "chat_template_kwargs.messages"},
        Bad{R"("add_generation_prompt":1)", "add_generation_prompt"},
        Bad{R"("add_special_tokens":"no")", "add_special_tokens"}));

INSTANTIATE_TEST_SUITE_P(
    NotSupported, BadChatRequest,
    ::testing::Values(Bad{R"("functions":[{}])", "functions"},
                      Bad{R"("audio":{"voice":"x"})", "audio"},
                      Bad{R"("modalities":["text","audio"])", "modalities"},
                      Bad{R"("prediction":{"type":"content"})", "prediction"},
                      Bad{R"("web_search_options":{})", "web_search_options"},
                      Bad{R"("reasoning_effort":"low")", "reasoning_effort"},
                      Bad{R"("continue_final_message":true)", "continue_final_message"},
                      Bad{R"("chat_template":"{{ x }}")", "chat_template"},
                      Bad{R"("documents":[{}])", "documents"}, Bad{R"("echo":true)", "echo"}));

TEST(ChatRequest, AMessageIsNamedInWhatIsSaidOfIt) {
  EXPECT_THAT(Refused(R"({"messages":[{"role":"user","content":[{"type":"audio"}]}]})").message,
              HasSubstr("'audio'"));
  const std::string type(100'000, 'x');
  EXPECT_LT(Refused(absl::StrCat(R"({"messages":[{"role":"user","content":[{"type":")", type,
                                 R"("}]}]})"))
                .message.size(),
            1000U)
      << "it is not sent back whole";
}

}  // namespace
}  // namespace banyan::server::openai
