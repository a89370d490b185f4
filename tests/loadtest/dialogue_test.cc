#include "loadtest/run/dialogue.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace banyan::loadtest {
namespace {

namespace json = boost::json;

RequestFormat Format(Api api, const std::string& extra = "") {
  RequestOptions options;
  options.api = api;
  options.model = "a \"model\"";
  options.extra_body = extra;
  absl::StatusOr<RequestFormat> format = RequestFormat::Create(options);
  EXPECT_TRUE(format.ok()) << format.status();
  return *format;
}

Message Says(Role role, const std::string& text) {
  Message message;
  message.role = role;
  message.text = text;
  return message;
}

json::object BodyOf(Dialogue& dialogue, std::int64_t output_tokens) {
  const std::string_view body = dialogue.Body(output_tokens);
  return json::parse({body.data(), body.size()}).as_object();
}

TEST(Dialogue, AChatIsMessagesThatGrow) {
  const RequestFormat format = Format(Api::kChat);
  const Vocabulary vocabulary;
  Dialogue dialogue(format, vocabulary);
  dialogue.Add(Says(Role::kSystem, "Be \"brief\".\n\t\x01\\"));
  dialogue.Add(Says(Role::kUser, "Hé?"));
  EXPECT_EQ(BodyOf(dialogue, 7), json::parse(R"({"model":"a \"model\"","messages":[
              {"role":"system","content":"Be \"brief\".\n\t\u0001\\"},
              {"role":"user","content":"Hé?"}],
              "temperature":0E0,"stream":true,"stream_options":{"include_usage":true},
              "max_tokens":7,"ignore_eos":true})"));
  dialogue.AddAnswer("Yes");
  dialogue.Add(Says(Role::kUser, "More"));
  const json::object body = BodyOf(dialogue, 9);
  EXPECT_EQ(body.at("max_tokens"), 9);
  EXPECT_EQ(json::serialize(body.at("messages").at(2)), R"({"role":"assistant","content":"Yes"})");
  EXPECT_EQ(body.at("messages").as_array().size(), 4u);
}

TEST(Dialogue, ACompletionIsTextThatGrows) {
  const RequestFormat format = Format(Api::kCompletions);
  const Vocabulary vocabulary;
  Dialogue dialogue(format, vocabulary);
  Message message;
  message.segments = {{5, 3}};
  dialogue.Add(message);
  dialogue.AddAnswer(" \"x\"");
  dialogue.Add(Says(Role::kUser, "\n?"));
  const json::object body = BodyOf(dialogue, 1);
  EXPECT_EQ(body.at("prompt").as_string().c_str(), vocabulary.Text(message) + " \"x\"\n?");
  EXPECT_FALSE(body.contains("messages"));
}

TEST(Dialogue, AskingTwiceGivesTheSame) {
  const RequestFormat format = Format(Api::kChat);
  const Vocabulary vocabulary;
  Dialogue dialogue(format, vocabulary);
  dialogue.Add(Says(Role::kUser, "x"));
  const std::string once(dialogue.Body(3));
  EXPECT_EQ(dialogue.Body(3), once);
}

TEST(RequestFormat, AnAnswerOfNoGivenLengthMayEnd) {
  const RequestFormat format = Format(Api::kChat);
  const Vocabulary vocabulary;
  Dialogue dialogue(format, vocabulary);
  dialogue.Add(Says(Role::kUser, "x"));
  const json::object body = BodyOf(dialogue, 0);
  EXPECT_FALSE(body.contains("max_tokens"));
  EXPECT_FALSE(body.contains("ignore_eos"));
}

TEST(RequestFormat, MembersOfTheExtraBodyWinAndNoneIsThereTwice) {
  const RequestFormat format = Format(
      Api::kChat, R"({"temperature":1,"max_completion_tokens":4,"ignore_eos":false,"priority":3,)"
                  R"("stream":false})");
  const Vocabulary vocabulary;
  Dialogue dialogue(format, vocabulary);
  dialogue.Add(Says(Role::kUser, "x"));
  const std::string text(dialogue.Body(7));
  for (const char* member : {"\"temperature\"", "\"ignore_eos\"", "\"stream\"", "\"priority\""}) {
    EXPECT_EQ(text.find(member), text.rfind(member)) << member;
  }
  const json::object body = BodyOf(dialogue, 7);
  EXPECT_EQ(body.at("temperature"), 1);
  EXPECT_EQ(body.at("ignore_eos"), false);
  EXPECT_EQ(body.at("priority"), 3);
  EXPECT_FALSE(body.contains("max_tokens"));
  EXPECT_FALSE(body.contains("stream_options"));
}

TEST(RequestFormat, AnExtraBodyIsAnObjectWithoutAPrompt) {
  for (const std::string extra :
       {"[1]", "{", "7", R"({"messages":[]})", R"({"prompt":""})", R"({"model":"x"})"}) {
    RequestOptions options;
    options.extra_body = extra;
    EXPECT_EQ(RequestFormat::Create(options).status().code(), absl::StatusCode::kInvalidArgument)
        << extra;
  }
}

}  // namespace
}  // namespace banyan::loadtest
