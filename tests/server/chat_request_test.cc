#include "server/openai/chat_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "server/openai/strict_json.h"

namespace banyan::server::openai {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kHello = R"("messages":[{"role":"user","content":"Hi"}])";

// A request that is good but for `members`.
std::string With(const std::string& members) {
  return absl::StrCat("{", kHello, members.empty() ? "" : ",", members, "}");
}

ChatRequest Accepted(const std::string& body) {
  Result<ChatRequest> request = ParseChatRequest(body, "smol");
  if (!request.ok()) {
    ADD_FAILURE() << body << ": " << request.error().message;
    return {};
  }
  return *request;
}

http::Error Refused(const std::string& body) {
  Result<ChatRequest> request = ParseChatRequest(body, "smol");
  if (!request.ok()) return request.error();
  ADD_FAILURE() << "accepted: " << body;
  return {};
}

TEST(ChatRequest, DefaultsAreThoseOfTheApi) {
  const ChatRequest request = Accepted(With(""));
  ASSERT_EQ(request.messages.size(), 1U);
  EXPECT_EQ(request.messages[0].at("role"), "user");
  EXPECT_EQ(request.messages[0].at("content"), "Hi");
  EXPECT_EQ(request.temperature, 1.0F);
  EXPECT_EQ(request.top_p, 1.0F);
  EXPECT_FALSE(request.max_tokens || request.seed);
  EXPECT_FALSE(request.stream || request.include_usage || request.ignore_eos);
  EXPECT_TRUE(request.stop.empty());
}

TEST(ChatRequest, EveryFieldIsRead) {
  const ChatRequest request = Accepted(With(
      R"("model":"smol","max_tokens":7,"temperature":0.5,"top_p":0.25,"seed":-1,"stop":["a","b"],)"
      R"("ignore_eos":true,"stream":true,"stream_options":{"include_usage":true},"n":1,)"
      R"("user":"u","metadata":{"k":"v"},"a_field_nobody_knows":{"deep":[1]})"));
  EXPECT_EQ(request.max_tokens, 7);
  EXPECT_EQ(request.temperature, 0.5F);
  EXPECT_EQ(request.top_p, 0.25F);
  EXPECT_EQ(request.seed, ~std::uint64_t{0});
  EXPECT_THAT(request.stop, ElementsAre("a", "b"));
  EXPECT_TRUE(request.ignore_eos && request.stream && request.include_usage);
}

TEST(ChatRequest, ContentPartsAreJoined) {
  const ChatRequest request =
      Accepted(R"({"messages":[{"role":"system","content":[{"type":"text","text":"a"},)"
               R"({"type":"text","text":"b"}]},{"role":"assistant","content":""}]})");
  EXPECT_EQ(request.messages[0].at("content"), "ab");
  EXPECT_EQ(request.messages[1].at("content"), "");
}

TEST(ChatRequest, TheNewerNameOfMaxTokensWins) {
  EXPECT_EQ(Accepted(With(R"("max_tokens":5,"max_completion_tokens":6)")).max_tokens, 6);
  EXPECT_EQ(Accepted(With(R"("max_tokens":5,"max_completion_tokens":null)")).max_tokens, 5);
}

TEST(ChatRequest, ValuesAreAcceptedAtTheirBounds) {
  Accepted(With(R"("temperature":0)"));
  Accepted(With(R"("temperature":2)"));
  Accepted(With(R"("top_p":1)"));
  Accepted(With(R"("top_p":1e-9)"));
  Accepted(With(R"("max_tokens":1)"));
  Accepted(With(R"("seed":18446744073709551615)"));
  Accepted(With(absl::StrCat("\"stop\":\"", std::string(1024, 's'), "\"")));
  std::string stops;
  for (int i = 0; i < 16; ++i) absl::StrAppend(&stops, i == 0 ? "\"" : ",\"", i, "\"");
  EXPECT_EQ(Accepted(With(absl::StrCat("\"stop\":[", stops, "]"))).stop.size(), 16U);
  EXPECT_EQ(Refused(With(absl::StrCat("\"stop\":[", stops, ",\"x\"]"))).param, "stop");
}

TEST(ChatRequest, AnotherModelIsNotFound) {
  const http::Error error = Refused(With(R"("model":"gpt-5")"));
  EXPECT_EQ(error.status, 404);
  EXPECT_EQ(error.code, "model_not_found");
  EXPECT_EQ(error.param, "model");
  EXPECT_THAT(error.message, HasSubstr("gpt-5"));
  Accepted(With(R"("model":null)"));
}

struct Bad {
  const char* body;
  const char* param;
};

class BadChatRequest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadChatRequest, IsRefusedWithItsParam) {
  const std::string body = GetParam().body;
  const http::Error error = Refused(body[0] == '{' || body[0] == '[' ? body : With(body));
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
        Bad{R"({"messages":[{"role":"tool","content":"Hi"}]})", "messages[0].role"},
        Bad{R"({"messages":[{"role":"user"}]})", "messages[0].content"},
        Bad{R"({"messages":[{"role":"user","content":"a"},{"role":"user","content":7}]})",
            "messages[1].content"},
        Bad{R"({"messages":[{"role":"assistant","content":null}]})", "messages[0].content"},
        Bad{R"({"messages":[{"role":"user","content":[]}]})", "messages[0].content"},
        Bad{R"({"messages":[{"role":"user","content":["a"]}]})", "messages[0].content[0]"},
        Bad{R"({"messages":[{"role":"user","content":[{"text":"a"}]}]})",
            "messages[0].content[0].type"},
        Bad{R"({"messages":[{"role":"user","content":[{"type":"text","text":"a"},)"
            R"({"type":"image_url","image_url":{"url":"x"}}]}]})",
            "messages[0].content[1].type"},
        Bad{R"({"messages":[{"role":"user","content":[{"type":"text","text":1}]}]})",
            "messages[0].content[0].text"},
        Bad{R"({"messages":[{"role":"assistant","content":"","tool_calls":[{"id":"1"}]}]})",
            "messages[0].tool_calls"},
        Bad{R"("model":1)", "model"}, Bad{R"("temperature":"hot")", "temperature"},
        Bad{R"("temperature":-0.001)", "temperature"}, Bad{R"("temperature":2.001)", "temperature"},
        Bad{R"("top_p":0)", "top_p"}, Bad{R"("top_p":1.001)", "top_p"},
        Bad{R"("top_p":1e-300)", "top_p"}, Bad{R"("top_p":true)", "top_p"},
        Bad{R"("max_tokens":0)", "max_tokens"}, Bad{R"("max_tokens":-1)", "max_tokens"},
        Bad{R"("max_tokens":1.5)", "max_tokens"}, Bad{R"("max_tokens":"1")", "max_tokens"},
        Bad{R"("max_tokens":18446744073709551615)", "max_tokens"},
        Bad{R"("max_completion_tokens":0)", "max_completion_tokens"}, Bad{R"("seed":1.5)", "seed"},
        Bad{R"("seed":"1")", "seed"}, Bad{R"("stop":7)", "stop"}, Bad{R"("stop":"")", "stop"},
        Bad{R"("stop":["a",""])", "stop[1]"}, Bad{R"("stop":["a",7])", "stop[1]"},
        Bad{R"("stream":"true")", "stream"},
        Bad{R"("stream":true,"stream_options":true)", "stream_options"},
        Bad{R"("stream_options":{"include_usage":true})", "stream_options"},
        Bad{R"("stream":true,"stream_options":{"include_usage":1})",
            "stream_options.include_usage"},
        Bad{R"("ignore_eos":1)", "ignore_eos"}));

INSTANTIATE_TEST_SUITE_P(
    NotSupportedYet, BadChatRequest,
    ::testing::Values(
        Bad{R"("n":2)", "n"}, Bad{R"("n":0)", "n"}, Bad{R"("tools":[{}])", "tools"},
        Bad{R"("tool_choice":"auto")", "tool_choice"}, Bad{R"("functions":[{}])", "functions"},
        Bad{R"("response_format":{"type":"json_object"})", "response_format"},
        Bad{R"("logprobs":true)", "logprobs"}, Bad{R"("top_logprobs":2)", "top_logprobs"},
        Bad{R"("logit_bias":{"5":1})", "logit_bias"},
        Bad{R"("presence_penalty":0.5)", "presence_penalty"},
        Bad{R"("frequency_penalty":-1)", "frequency_penalty"},
        Bad{R"("audio":{"voice":"x"})", "audio"},
        Bad{R"("modalities":["text","audio"])", "modalities"}, Bad{R"("top_k":5)", "top_k"},
        Bad{R"("min_p":0.1)", "min_p"}, Bad{R"("repetition_penalty":1.1)", "repetition_penalty"},
        Bad{R"("min_tokens":1)", "min_tokens"}, Bad{R"("stop_token_ids":[2])", "stop_token_ids"},
        Bad{R"("guided_json":{})", "guided_json"}, Bad{R"("guided_regex":"a")", "guided_regex"},
        Bad{R"("kv_policy":"window")", "kv_policy"}, Bad{R"("cache_salt":"s")", "cache_salt"},
        Bad{R"("priority":3)", "priority"}, Bad{R"("prediction":{"type":"content"})", "prediction"},
        Bad{R"("web_search_options":{})", "web_search_options"},
        Bad{R"("reasoning_effort":"low")", "reasoning_effort"}));

TEST(ChatRequest, NeutralValuesOfWhatIsNotSupportedPass) {
  for (const char* member : {R"("n":1)",
                             R"("n":1.0)",
                             R"("n":null)",
                             R"("tools":[])",
                             R"("tools":null)",
                             R"("tool_choice":"none")",
                             R"("response_format":{"type":"text"})",
                             R"("logprobs":false)",
                             R"("top_logprobs":0)",
                             R"("logit_bias":{})",
                             R"("presence_penalty":0.0)",
                             R"("frequency_penalty":0)",
                             R"("modalities":["text"])",
                             R"("top_k":-1)",
                             R"("min_p":0.0)",
                             R"("repetition_penalty":1)",
                             R"("min_tokens":0)",
                             R"("stop_token_ids":[])",
                             R"("guided_json":null)",
                             R"("kv_policy":null)",
                             R"("priority":0)",
                             R"("stop":[])",
                             R"("stop":null)",
                             R"("stream_options":null)"}) {
    Accepted(With(member));
  }
}

http::Error NotJson(const std::string& text) {
  const Result<boost::json::object> object = ParseObject(text);
  if (object.ok()) {
    ADD_FAILURE() << "accepted: " << text.substr(0, 80);
    return {};
  }
  EXPECT_EQ(object.error().status, 400);
  EXPECT_EQ(object.error().code, "invalid_request");
  return object.error();
}

TEST(StrictJson, OnlyOneWholeObjectIsTaken) {
  EXPECT_TRUE(ParseObject(" {\"a\":[1,2.5,\"x\",null,true,{\"b\":{}}]} \n").ok());
  for (const char* text : {"",
                           " ",
                           "{",
                           "{\"a\":",
                           "{\"a\":1,}",
                           "{} {}",
                           "{}x",
                           "[1]",
                           "7",
                           "\"a\"",
                           "null",
                           "{'a':1}",
                           "{\"a\":NaN}",
                           "{\"a\":01}",
                           "\xEF\xBB\xBF{}",
                           "{\"a\":\"\xFF\"}",
                           "{\"a\":\"\\ud800\"}",
                           "{\"a\":\"tab\there\"}",
                           "{\"a\":1 /* why */}",
                           "{\"a\":1e999}"}) {
    NotJson(text);
  }
}

TEST(StrictJson, AKeyThatIsThereTwiceIsRefusedByName) {
  EXPECT_THAT(NotJson(R"({"a":1,"b":2,"a":3})").message, HasSubstr("\"a\" is there twice"));
  EXPECT_THAT(NotJson(R"({"x":[{"a":1,"\u0061":3}]})").message, HasSubstr("twice"));
  EXPECT_TRUE(ParseObject(R"({"a":{"a":1},"b":[{"a":1},{"a":2}]})").ok());
}

std::string Nested(int depth) {
  std::string text = "{\"a\":";
  for (int i = 1; i < depth; ++i) text += '[';
  text += '1';
  for (int i = 1; i < depth; ++i) text += ']';
  return text + "}";
}

TEST(StrictJson, DepthIsBounded) {
  EXPECT_TRUE(ParseObject(Nested(31)).ok());
  EXPECT_TRUE(ParseObject(Nested(32)).ok());
  NotJson(Nested(33));
  NotJson(absl::StrCat("{\"a\":", std::string(1'000'000, '[')));
}

std::string Values(std::size_t count) {  // the object and its array are two of them
  std::string text = "{\"a\":[0";
  for (std::size_t i = 3; i < count; ++i) text += ",0";
  return text + "]}";
}

TEST(StrictJson, TheNumberOfValuesIsBounded) {
  EXPECT_TRUE(ParseObject(Values(kMaxJsonValues - 1)).ok());
  EXPECT_TRUE(ParseObject(Values(kMaxJsonValues)).ok());
  EXPECT_THAT(NotJson(Values(kMaxJsonValues + 1)).message, HasSubstr("values"));
}

}  // namespace
}  // namespace banyan::server::openai
