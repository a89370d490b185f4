// ShareGPT, WildChat and LMSYS-Chat-1M: questions are asked, answers give lengths. And aiperf's
// files of texts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/loadtest/trace_text.h"

namespace banyan::loadtest {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(ShareGpt, QuestionsAreTurnsAndAnswersGiveTheirLengths) {
  const auto workload = ReadText(R"([
    {"id": "QWJhYvA_0", "conversations": [
      {"from": "system", "value": "Be brief."},
      {"from": "human", "value": "Why?"},
      {"from": "gpt", "value": "12345678"},
      {"from": "user", "value": "And \"that\"?"},
      {"from": "chatgpt", "value": "x"}]},
    {"conversations": [{"from": "human", "value": "Who?"}]}
  ])");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->source, "sharegpt trace");
  ASSERT_THAT(workload->conversations, SizeIs(2));
  const Conversation& chat = workload->conversations[0];
  EXPECT_EQ(chat.id, "QWJhYvA_0");
  ASSERT_THAT(chat.turns, SizeIs(2));
  ASSERT_THAT(chat.turns[0].messages, SizeIs(2));
  EXPECT_EQ(chat.turns[0].messages[0].role, Role::kSystem);
  EXPECT_EQ(chat.turns[0].messages[0].text, "Be brief.");
  EXPECT_EQ(chat.turns[0].messages[1].text, "Why?");
  EXPECT_EQ(chat.turns[0].output_tokens, 2) << "8 bytes";
  EXPECT_EQ(chat.turns[0].at, std::nullopt);
  EXPECT_EQ(chat.turns[1].number, 2);
  ASSERT_THAT(chat.turns[1].messages, SizeIs(1)) << "the file's answer is not sent";
  EXPECT_EQ(chat.turns[1].messages[0].text, "And \"that\"?");
  EXPECT_EQ(chat.turns[1].output_tokens, 1);
  EXPECT_EQ(workload->conversations[1].id, "8") << "its line";
  EXPECT_EQ(workload->conversations[1].turns[0].output_tokens, 0) << "nobody answered";
}

TEST(ShareGpt, WhatAsksNothingIsLeftOut) {
  const auto workload = ReadText(R"([
    {"id": "a", "conversations": []},
    {"id": "b", "conversations": [{"from": "gpt", "value": "I said that."}]},
    {"id": "c", "conversations": [{"from": "gpt", "value": "I said that."},
                                  {"from": "human", "value": ""},
                                  {"from": "human", "value": "What?"},
                                  {"from": "human", "value": "Well?"},
                                  {"from": "gpt", "value": ""},
                                  {"from": "gpt", "value": "That."},
                                  {"from": "gpt", "value": "And this, too, I said."}]}
  ])");
  ASSERT_TRUE(workload.ok()) << workload.status();
  ASSERT_THAT(workload->conversations, SizeIs(1));
  EXPECT_THAT(workload->bad_lines, SizeIs(0));
  const Conversation& chat = workload->conversations[0];
  EXPECT_EQ(chat.id, "c");
  ASSERT_THAT(chat.turns, SizeIs(1));
  EXPECT_EQ(chat.turns[0].messages[0].text, "What?\n\nWell?");
  EXPECT_EQ(chat.turns[0].output_tokens, 1) << "by the first answer";
}

TEST(ShareGpt, AMalformedElementIsSkippedAndTheRestRead) {
  const std::string text =
      "[{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"}]},\n"
      "{\"conversations\":[{\"from\":\"nobody\",\"value\":\"b\"}]},\n"
      "{\"conversations\":7}, {\"conversations\":[8]}, nonsense,\n"
      "{\"conversations\":[{\"from\":\"human\",\"value\":\"c]},{\"}]}]";
  EXPECT_THAT(FaultOf(text), HasSubstr("trace:2: from is 'nobody'"));
  const auto workload = ReadText(text, kSkipBadLines);
  ASSERT_TRUE(workload.ok()) << workload.status();
  ASSERT_THAT(workload->conversations, SizeIs(2));
  EXPECT_EQ(workload->conversations[1].turns[0].messages[0].text, "c]},{");
  ASSERT_THAT(workload->bad_lines, SizeIs(4));
  EXPECT_EQ(workload->bad_lines[0].line, 2);
  EXPECT_EQ(workload->bad_lines[3].line, 3);
  EXPECT_THAT(workload->bad_lines[3].why, HasSubstr("not JSON"));
}

TEST(ShareGpt, LinesDoAsWellAsAnArray) {
  const auto workload = ReadText(
      "{\"conversations\":[{\"from\":\"human\",\"value\":\"a\"}]}\n"
      "{\"conversations\":[{\"from\":\"human\",\"value\":\"b\"}]}\n");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_THAT(workload->conversations, SizeIs(2));
}

TEST(WildChat, RolesAndContents) {
  const auto workload =
      ReadText(R"({"conversation_hash": "cf1267", "model": "gpt-4", "turn": 1, "conversation": [)"
               R"({"content": "Hey there", "role": "user", "toxic": false, "timestamp": null},)"
               R"({"content": "Hello! How can I help?", "role": "assistant", "toxic": false}]})"
               "\n"
               R"({"conversation_id": "33f0", "conversation": [{"role": "user", "content": null},)"
               R"({"role": "user", "content": "Hi"}]})"
               "\n");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->source, "wildchat trace");
  ASSERT_THAT(workload->conversations, SizeIs(2));
  EXPECT_EQ(workload->conversations[0].id, "cf1267");
  EXPECT_EQ(workload->conversations[0].turns[0].messages[0].text, "Hey there");
  EXPECT_EQ(workload->conversations[0].turns[0].output_tokens, 5);
  EXPECT_EQ(workload->conversations[1].id, "33f0");
  EXPECT_THAT(FaultOf(R"({"conversation": [{"role": "user", "content": 7}]})"),
              HasSubstr("content is not a string"));
  EXPECT_THAT(FaultOf(R"({"conversation": [{"content": "x"}]})"), HasSubstr("role is ''"));
}

TEST(Aiperf, ALineOfTextIsARequest) {
  const auto workload = ReadText(
      R"({"text": "What is deep learning?", "timestamp": 10, "output_length": 12})"
      "\n"
      R"({"texts": ["one", {"name": "more", "contents": ["two", "three"]}], "timestamp": 12.5})"
      "\n");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->source, "aiperf trace");
  const Turn& first = workload->conversations[0].turns[0];
  EXPECT_EQ(first.messages[0].text, "What is deep learning?");
  EXPECT_EQ(first.output_tokens, 12);
  const Turn& second = workload->conversations[1].turns[0];
  EXPECT_EQ(second.messages[0].text, "one\ntwo\nthree");
  EXPECT_EQ(second.at, Tick(2'500'000));
  EXPECT_EQ(second.output_tokens, 0);
}

// An empty id once stood for the conversation, and the sessions of empty ids were one.
TEST(Chats, AnEmptyIdIsNone) {
  const auto id_of = [](std::string_view text) { return ReadText(text)->conversations.back().id; };
  EXPECT_EQ(id_of(R"({"id":"","conversations":[{"from":"human","value":"a"}]})"), "1");
  EXPECT_EQ(id_of(R"({"session_id":"","text":"a"})"), "1");
  EXPECT_EQ(id_of("{\"session_id\":\"\",\"input_length\":1}\n"
                  "{\"session_id\":\"\",\"input_length\":1}\n"),
            "2");
}

TEST(Aiperf, ALineOfTurnsIsAConversation) {
  const auto workload = ReadText(
      R"({"session_id": "s", "turns": [{"role": "system", "text": "Be brief."},)"
      R"({"text": "Hello", "delay": 0}, {"text": "Hi there", "delay": 1000, "output_length": 5}]})");
  ASSERT_TRUE(workload.ok()) << workload.status();
  const Conversation& conversation = workload->conversations[0];
  EXPECT_EQ(conversation.id, "s");
  ASSERT_THAT(conversation.turns, SizeIs(2));
  ASSERT_THAT(conversation.turns[0].messages, SizeIs(2));
  EXPECT_EQ(conversation.turns[0].messages[0].role, Role::kSystem);
  EXPECT_EQ(conversation.turns[0].messages[1].text, "Hello");
  EXPECT_EQ(conversation.turns[1].number, 2);
  EXPECT_EQ(conversation.turns[1].think, std::chrono::seconds(1));
  EXPECT_EQ(conversation.turns[1].output_tokens, 5);
}

TEST(Aiperf, WhatCannotBeSentIsAFault) {
  const auto fault = [](std::string_view turn) {
    return FaultOf(absl::StrCat(R"({"turns":[)", std::string(turn), "]}"));
  };
  EXPECT_EQ(fault(R"({"text":"a"})"), "");
  EXPECT_EQ(fault(R"({"text":"a","timestamp":1},{"text":"b","timestamp":1})"), "");
  EXPECT_THAT(fault(R"({"text":"a","image":"x.png"})"), HasSubstr("image is there"));
  EXPECT_THAT(fault(R"({"text":"a","texts":["b"]})"), HasSubstr("text and texts are both there"));
  EXPECT_THAT(fault(R"({"texts":"b"})"), HasSubstr("texts is not an array"));
  EXPECT_THAT(fault(R"({"texts":[[]]})"), HasSubstr("texts holds what is no text"));
  EXPECT_THAT(fault(R"({"text":""})"), HasSubstr("it has no text"));
  EXPECT_THAT(fault(R"({"text":"a","role":"tool"})"), HasSubstr("the role is 'tool'"));
  EXPECT_THAT(fault(R"({"text":"a","timestamp":1,"delay":1})"), HasSubstr("are both there"));
  EXPECT_THAT(fault(R"({"text":"a","output_length":0})"), HasSubstr("output_length is 0, under 1"));
  EXPECT_THAT(fault(R"({"role":"system","text":"a"})"), HasSubstr("no turn that asks"));
  EXPECT_THAT(fault(""), HasSubstr("no turn that asks"));
  EXPECT_THAT(fault("1"), HasSubstr("a turn is not an object"));
  EXPECT_THAT(fault(R"({"text":"a","timestamp":5},{"text":"b","timestamp":4})"),
              HasSubstr("the times of its turns decrease"));
  EXPECT_THAT(fault(R"({"text":"a"},{"text":"b","timestamp":4})"),
              HasSubstr("but the first one has none"));
}

}  // namespace
}  // namespace banyan::loadtest
