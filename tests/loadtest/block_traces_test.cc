// Mooncake's and Bailian's traces: blocks, lengths, sessions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/loadtest/trace_text.h"

namespace banyan::loadtest {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::vector<Segment>& SegmentsOf(const Workload& workload, std::size_t conversation) {
  return workload.conversations[conversation].turns[0].messages[0].segments;
}

TEST(Mooncake, ALineIsARequestOfBlocksTheLastOfWhichIsShort) {
  const auto workload = ReadText(
      R"({"timestamp": 27482, "input_length": 1030, "output_length": 52, "hash_ids": [46, 47, 2353]})"
      "\n"
      R"({"timestamp": 30535, "input_length": 1024, "output_length": 26, "hash_ids": [46, 47]})");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->source, "mooncake trace");
  EXPECT_EQ(workload->block_tokens, 512);
  ASSERT_THAT(workload->conversations, SizeIs(2));
  const Conversation& first = workload->conversations[0];
  EXPECT_EQ(first.id, "1");
  ASSERT_THAT(first.turns, SizeIs(1));
  EXPECT_EQ(first.turns[0].number, 1);
  EXPECT_EQ(first.turns[0].at, Tick(0)) << "times begin with the first request";
  EXPECT_EQ(first.turns[0].output_tokens, 52);
  ASSERT_THAT(first.turns[0].messages, SizeIs(1));
  EXPECT_EQ(first.turns[0].messages[0].role, Role::kUser);
  EXPECT_THAT(SegmentsOf(*workload, 0),
              ElementsAre(Segment{46, 512}, Segment{47, 512}, Segment{2353, 6}));
  EXPECT_EQ(workload->conversations[1].turns[0].at, Milliseconds(3053));
  EXPECT_THAT(SegmentsOf(*workload, 1), ElementsAre(Segment{46, 512}, Segment{47, 512}));
}

TEST(Mooncake, TheNumberOfIdsMustFitTheLength) {
  const auto line = [](std::int64_t tokens, std::string_view ids) {
    return absl::StrCat(R"({"timestamp":0,"output_length":1,"input_length":)", tokens,
                        R"(,"hash_ids":[)", std::string(ids), "]}");
  };
  EXPECT_EQ(FaultOf(line(512, "7")), "");
  EXPECT_THAT(FaultOf(line(513, "7")),
              HasSubstr("hash_ids names 1 blocks, but 513 tokens are 2 blocks of 512"));
  EXPECT_EQ(FaultOf(line(513, "7,8")), "");
  EXPECT_THAT(FaultOf(line(512, "7,8")), HasSubstr("hash_ids names 2 blocks"));
  EXPECT_THAT(FaultOf(line(512, "")), HasSubstr("hash_ids names 0 blocks"));
}

TEST(Mooncake, LengthsOutOfBoundsAreFaults) {
  const auto line = [](std::string_view input, std::string_view output) {
    return absl::StrCat(R"({"timestamp":0,"input_length":)", std::string(input),
                        R"(,"output_length":)", std::string(output), "}");
  };
  EXPECT_EQ(FaultOf(line("1", "0")), "");
  EXPECT_EQ(FaultOf(line("2147483647", "2147483647")), "");
  EXPECT_THAT(FaultOf(line("2147483648", "1")), HasSubstr("input_length is 2147483648, over"));
  EXPECT_THAT(FaultOf(line("1", "2147483648")), HasSubstr("output_length is 2147483648, over"));
  EXPECT_THAT(FaultOf(line("99999999999999999999", "1")), HasSubstr("input_length"));
  EXPECT_THAT(FaultOf(line("0", "1")), HasSubstr("input_length is 0, under 1"));
  EXPECT_THAT(FaultOf(line("1", "-1")), HasSubstr("output_length is -1, under 0"));
  EXPECT_THAT(FaultOf(line("1.5", "1")), HasSubstr("input_length is not a whole number"));
  EXPECT_THAT(FaultOf(line(R"("12")", "1")), HasSubstr("input_length is not a whole number"));
  EXPECT_THAT(FaultOf(line("NaN", "1")), HasSubstr("not JSON"));
  EXPECT_THAT(FaultOf(R"({"timestamp":0,"input_length":null,"output_length":1})"),
              HasSubstr("an object of no known trace"));
  EXPECT_THAT(FaultOf(R"({"timestamp":0,"output_length":1})", {.format = TraceFormat::kMooncake}),
              HasSubstr("input_length is missing"));
}

TEST(Mooncake, AnAnswerOfNoTokenIsAskedForAsOne) {
  const auto workload = ReadText(R"({"timestamp":0,"input_length":1,"output_length":0})");
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->conversations[0].turns[0].output_tokens, 1);
}

TEST(Mooncake, TimesOutOfBoundsAreFaults) {
  const auto line = [](std::string_view time) {
    return absl::StrCat(R"({"input_length":1,"timestamp":)", std::string(time), "}");
  };
  EXPECT_EQ(FaultOf(line("0.5")), "");
  EXPECT_EQ(FaultOf(line("9000000000000")), "");
  EXPECT_THAT(FaultOf(line("9000000001000")), HasSubstr("timestamp is over"));
  EXPECT_THAT(FaultOf(line("1e999")), HasSubstr("trace:1: "));
  EXPECT_THAT(FaultOf(line("-1")), HasSubstr("timestamp is negative"));
  EXPECT_THAT(FaultOf(line("true")), HasSubstr("timestamp is not a number"));
}

TEST(Mooncake, PromptsWithoutIdsShareNothing) {
  const auto workload = ReadText(
      "{\"timestamp\":0,\"input_length\":600}\n"
      "{\"timestamp\":0,\"input_length\":600}\n");
  ASSERT_TRUE(workload.ok()) << workload.status();
  ASSERT_THAT(SegmentsOf(*workload, 0), SizeIs(1));
  EXPECT_EQ(SegmentsOf(*workload, 0)[0].tokens, 600);
  EXPECT_NE(SegmentsOf(*workload, 0)[0].key, SegmentsOf(*workload, 1)[0].key);
}

TEST(Mooncake, LinesOfASessionAreTurnsOfOneConversation) {
  const auto workload = ReadText(
      "{\"session_id\":\"a\",\"input_length\":300,\"output_length\":40}\n"
      "{\"session_id\":\"b\",\"text_input\":\"Hello\"}\n"
      "{\"session_id\":\"a\",\"delay\":2,\"input_length\":150,\"output_length\":20}\n");
  ASSERT_TRUE(workload.ok()) << workload.status();
  ASSERT_THAT(workload->conversations, SizeIs(2));
  const Conversation& a = workload->conversations[0];
  EXPECT_EQ(a.id, "a");
  ASSERT_THAT(a.turns, SizeIs(2));
  EXPECT_EQ(a.turns[1].number, 2);
  EXPECT_EQ(a.turns[1].think, Milliseconds(2));
  EXPECT_EQ(a.turns[1].at, std::nullopt);
  EXPECT_EQ(a.turns[1].messages[0].segments[0].tokens, 150);
  EXPECT_EQ(workload->conversations[1].turns[0].messages[0].text, "Hello");
}

TEST(Mooncake, TurnsOfASessionAreSentInOrderOfTheirTimes) {
  const auto workload = ReadText(
      "{\"session_id\":\"a\",\"timestamp\":9,\"input_length\":2}\n"
      "{\"session_id\":\"a\",\"timestamp\":4,\"input_length\":1}\n");
  ASSERT_TRUE(workload.ok()) << workload.status();
  const std::vector<Turn>& turns = workload->conversations[0].turns;
  EXPECT_EQ(turns[0].messages[0].segments[0].tokens, 1);
  EXPECT_EQ(turns[0].number, 1);
  EXPECT_EQ(turns[0].at, Milliseconds(0));
  EXPECT_EQ(turns[1].at, Milliseconds(5));
}

// Ids of 16 tokens: five blocks are 65 to 80 tokens.
std::string BailianLine(int chat, int parent, double at, int turn, std::string_view ids) {
  return absl::StrCat("{\"chat_id\": ", chat, ", \"parent_chat_id\": ", parent,
                      ", \"timestamp\": ", at,
                      ", \"input_length\": 40, \"output_length\": 7, \"type\": \"text\", "
                      "\"turn\": ",
                      turn, ", \"hash_ids\": [", std::string(ids), "]}\n");
}

TEST(Bailian, ALineIsAConversationOfOneTurnWithItsNumber) {
  const auto workload = ReadText(BailianLine(159, 55, 61.114, 2, "1,2,3"));
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->source, "bailian trace");
  EXPECT_EQ(workload->block_tokens, 16);
  EXPECT_EQ(workload->conversations[0].id, "159");
  EXPECT_EQ(workload->conversations[0].turns[0].number, 2);
  EXPECT_EQ(workload->conversations[0].turns[0].output_tokens, 7);
  EXPECT_EQ(SegmentsOf(*workload, 0)[1].tokens, 16);
  EXPECT_EQ(SegmentsOf(*workload, 0)[2].tokens, 8);
}

TEST(Bailian, AKeyNamesABlockAndAllBeforeIt) {
  const auto workload =
      ReadText(BailianLine(0, -1, 0, 1, "1,2,3") + BailianLine(1, -1, 1, 1, "1,2,4") +
               BailianLine(2, -1, 2, 1, "9,2,3") + BailianLine(3, -1, 3, 1, "2,2,2"));
  ASSERT_TRUE(workload.ok()) << workload.status();
  const auto key = [&](std::size_t conversation, std::size_t block) {
    return SegmentsOf(*workload, conversation)[block].key;
  };
  EXPECT_EQ(key(0, 0), key(1, 0));
  EXPECT_EQ(key(0, 1), key(1, 1));
  EXPECT_NE(key(0, 2), key(1, 2));
  EXPECT_NE(key(0, 1), key(2, 1)) << "the same block behind another one";
  EXPECT_NE(key(0, 2), key(2, 2));
  EXPECT_NE(key(3, 0), key(3, 1)) << "the same block twice in one prompt";
  EXPECT_NE(key(3, 1), key(3, 2));
}

TEST(Bailian, SecondsAreReadToTheMillisecond) {
  const auto workload =
      ReadText(BailianLine(0, -1, 1, 1, "1,2,3") + BailianLine(1, 0, 62.114, 2, "1,2,3"));
  ASSERT_TRUE(workload.ok()) << workload.status();
  EXPECT_EQ(workload->conversations[1].turns[0].at, Milliseconds(61114));
}

TEST(Bailian, WhatIsMissingIsNamed) {
  const TraceOptions bailian{.format = TraceFormat::kBailian};
  EXPECT_THAT(FaultOf("{}", bailian), HasSubstr("chat_id is missing"));
  EXPECT_THAT(FaultOf(R"({"chat_id":1})", bailian), HasSubstr("output_length is missing"));
  EXPECT_THAT(FaultOf(R"({"chat_id":1,"output_length":1})", bailian),
              HasSubstr("timestamp is missing"));
  EXPECT_THAT(FaultOf(R"({"chat_id":1,"output_length":1,"timestamp":1,"input_length":3})", bailian),
              HasSubstr("hash_ids is missing"));
  EXPECT_THAT(FaultOf(R"({"chat_id":1,"output_length":1,"timestamp":1,"input_length":3,)"
                      R"("hash_ids":["x"]})",
                      bailian),
              HasSubstr("hash_ids holds what is not a whole number"));
  EXPECT_THAT(FaultOf(BailianLine(1, -2, 0, 1, "1,2,3")), HasSubstr("parent_chat_id is -2"));
  EXPECT_THAT(FaultOf(BailianLine(1, -1, 0, 0, "1,2,3")), HasSubstr("turn is 0"));
}

}  // namespace
}  // namespace banyan::loadtest
