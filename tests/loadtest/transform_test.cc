// Fitting a workload to a server: what is shared stays shared, bounds hold.
#include "loadtest/workload/transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace banyan::loadtest {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

using std::chrono::seconds;

Message Says(Role role, std::vector<Segment> segments) {
  return {.role = role, .text = {}, .segments = std::move(segments)};
}

Turn Asks(std::vector<Message> messages, std::int64_t output_tokens) {
  Turn turn;
  turn.messages = std::move(messages);
  turn.output_tokens = output_tokens;
  return turn;
}

Workload Of(std::vector<Turn> turns) {
  Workload workload;
  workload.conversations.push_back({.id = "1", .turns = std::move(turns)});
  return workload;
}

// A system prompt of 100 + 50 tokens and three questions of 20 tokens, answered with 30 each.
Workload Chat() {
  return Of({Asks({Says(Role::kSystem, {{1, 100}, {2, 50}}), Says(Role::kUser, {{3, 20}})}, 30),
             Asks({Says(Role::kUser, {{4, 20}})}, 30), Asks({Says(Role::kUser, {{5, 20}})}, 30)});
}

std::int64_t Tokens(const Turn& turn) {
  std::int64_t tokens = 0;
  for (const Message& message : turn.messages) {
    for (const Segment& segment : message.segments) tokens += segment.tokens;
  }
  return tokens;
}

TEST(Fit, ByDefaultChangesNothing) {
  Workload workload = Chat();
  workload.block_tokens = 512;
  ASSERT_TRUE(Apply({}, workload).ok());
  EXPECT_EQ(workload.block_tokens, 512);
  EXPECT_EQ(Tokens(workload.conversations[0].turns[0]), 170);
  EXPECT_EQ(workload.conversations[0].turns[2].output_tokens, 30);
}

TEST(Fit, ASegmentsLengthDependsOnItsOwnLengthAlone) {
  Workload workload =
      Of({Asks({Says(Role::kUser, {{1, 512}, {2, 512}, {3, 1}, {4, 3}, {5, 10}})}, 3)});
  workload.conversations.push_back(
      {.id = "2", .turns = {Asks({Says(Role::kUser, {{1, 512}})}, 0)}});
  workload.block_tokens = 512;
  ASSERT_TRUE(Apply({.lengths = 0.1}, workload).ok());
  EXPECT_THAT(
      workload.conversations[0].turns[0].messages[0].segments,
      ElementsAre(Segment{1, 51}, Segment{2, 51}, Segment{3, 1}, Segment{4, 1}, Segment{5, 1}));
  EXPECT_THAT(workload.conversations[1].turns[0].messages[0].segments, ElementsAre(Segment{1, 51}));
  EXPECT_EQ(workload.conversations[0].turns[0].output_tokens, 1);
  EXPECT_EQ(workload.conversations[1].turns[0].output_tokens, 0) << "still as the server likes";
  EXPECT_EQ(workload.block_tokens, 51);
}

TEST(Fit, IsSaidOfTheSource) {
  Workload workload = Chat();
  workload.source = "chat";
  ASSERT_TRUE(Apply({}, workload).ok());
  EXPECT_EQ(workload.source, "chat");
  const Fit fit{.lengths = 0.5, .max_prompt_tokens = 90, .max_output_tokens = 8, .times = 2};
  ASSERT_TRUE(Apply(fit, workload).ok());
  EXPECT_EQ(workload.source,
            "chat; lengths x 0.5, answers cut to 8 tokens, prompts cut to 90 tokens, times x 2");
}

TEST(Fit, LengthsStayLengthsHoweverLargeTheFactor) {
  Workload workload = Chat();
  ASSERT_TRUE(Apply({.lengths = 1e300}, workload).ok());
  EXPECT_EQ(workload.conversations[0].turns[0].messages[0].segments[0].tokens,
            std::numeric_limits<std::int32_t>::max());
}

TEST(Fit, ALongPromptLosesItsEnd) {
  Workload workload = Of({Asks({Says(Role::kUser, {{1, 512}, {2, 512}, {3, 100}})}, 5)});
  Workload at_bound = workload, one_less = workload, one_block = workload;
  ASSERT_TRUE(Apply({.max_prompt_tokens = 1124}, at_bound).ok());
  EXPECT_EQ(Tokens(at_bound.conversations[0].turns[0]), 1124);
  ASSERT_TRUE(Apply({.max_prompt_tokens = 1123}, one_less).ok());
  EXPECT_THAT(one_less.conversations[0].turns[0].messages[0].segments,
              ElementsAre(Segment{1, 512}, Segment{2, 512}, Segment{3, 99}));
  ASSERT_TRUE(Apply({.max_prompt_tokens = 512}, one_block).ok());
  EXPECT_THAT(one_block.conversations[0].turns[0].messages[0].segments,
              ElementsAre(Segment{1, 512}));
}

// Turn 1 is 170 tokens and its answer 30; turn 2 ends at 220, its answer at 250, turn 3 at 270.
TEST(Fit, MessagesAndAnswersBeforeATurnCount) {
  const auto turns_at = [](std::int64_t bound) {
    Workload workload = Chat();
    EXPECT_TRUE(Apply({.max_prompt_tokens = bound}, workload).ok());
    std::vector<std::int64_t> tokens;
    for (const Turn& turn : workload.conversations[0].turns) tokens.push_back(Tokens(turn));
    return tokens;
  };
  EXPECT_THAT(turns_at(270), ElementsAre(170, 20, 20));
  EXPECT_THAT(turns_at(269), ElementsAre(170, 20, 19));
  EXPECT_THAT(turns_at(251), ElementsAre(170, 20, 1));
  EXPECT_THAT(turns_at(250), ElementsAre(170, 20)) << "no token of its own is left to turn 3";
  EXPECT_THAT(turns_at(220), ElementsAre(170, 20));
  EXPECT_THAT(turns_at(201), ElementsAre(170, 1));
  EXPECT_THAT(turns_at(200), ElementsAre(170));
}

TEST(Fit, EachMessageKeepsAToken) {
  Workload workload = Chat();
  ASSERT_TRUE(Apply({.max_prompt_tokens = 120}, workload).ok());
  const Turn& turn = workload.conversations[0].turns[0];
  EXPECT_THAT(turn.messages[0].segments, ElementsAre(Segment{1, 100}, Segment{2, 19}));
  EXPECT_THAT(turn.messages[1].segments, ElementsAre(Segment{3, 1}));
  Workload two = Chat();
  ASSERT_TRUE(Apply({.max_prompt_tokens = 2}, two).ok());
  EXPECT_THAT(two.conversations[0].turns[0].messages[0].segments, ElementsAre(Segment{1, 1}));
  Workload one = Chat();
  EXPECT_TRUE(absl::IsInvalidArgument(Apply({.max_prompt_tokens = 1}, one)));
}

TEST(Fit, OutputsAreBoundedAlsoWhereTheServerChose) {
  Workload workload =
      Of({Asks({Says(Role::kUser, {{1, 1}})}, 0), Asks({Says(Role::kUser, {{2, 1}})}, 9),
          Asks({Says(Role::kUser, {{3, 1}})}, 10), Asks({Says(Role::kUser, {{4, 1}})}, 11)});
  ASSERT_TRUE(Apply({.max_output_tokens = 10}, workload).ok());
  const std::vector<Turn>& turns = workload.conversations[0].turns;
  EXPECT_EQ(turns[0].output_tokens, 10);
  EXPECT_EQ(turns[1].output_tokens, 9);
  EXPECT_EQ(turns[2].output_tokens, 10);
  EXPECT_EQ(turns[3].output_tokens, 10);
}

TEST(Fit, BoundedOutputsCountBeforeLaterTurns) {
  Workload workload = Chat();
  ASSERT_TRUE(Apply({.max_prompt_tokens = 230, .max_output_tokens = 10}, workload).ok());
  EXPECT_THAT(workload.conversations[0].turns, SizeIs(3)) << "170 + 10 + 20 + 10 + 20 are 230";
  EXPECT_EQ(Tokens(workload.conversations[0].turns[2]), 20);
}

TEST(Fit, TextIsLeftAsItIs) {
  Workload workload = Of({Asks({{.role = Role::kUser, .text = "Why?", .segments = {}}}, 40)});
  ASSERT_TRUE(Apply({.lengths = 0.5, .max_prompt_tokens = 1}, workload).ok());
  EXPECT_EQ(workload.conversations[0].turns[0].messages[0].text, "Why?");
  EXPECT_EQ(workload.conversations[0].turns[0].output_tokens, 20);
}

TEST(Fit, TimesAreScaled) {
  Workload workload = Chat();
  workload.conversations[0].turns[0].at = seconds(10);
  workload.conversations[0].turns[1].think = seconds(3);
  ASSERT_TRUE(Apply({.times = 0.5}, workload).ok());
  EXPECT_EQ(workload.conversations[0].turns[0].at, seconds(5));
  EXPECT_EQ(workload.conversations[0].turns[1].think, Tick(1'500'000'000));
  EXPECT_EQ(workload.conversations[0].turns[2].at, std::nullopt);
}

TEST(Fit, WhatIsRefusedIsLeftUnchanged) {
  Workload workload = Chat();
  workload.conversations[0].turns[0].at = seconds(10);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Fit& fit :
       {Fit{.lengths = 0}, Fit{.lengths = -1}, Fit{.lengths = nan}, Fit{.times = 0},
        Fit{.times = std::numeric_limits<double>::infinity()}, Fit{.max_prompt_tokens = -1},
        Fit{.max_output_tokens = -1}, Fit{.lengths = 0.5, .times = 1e9}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(Apply(fit, workload)));
    EXPECT_EQ(Tokens(workload.conversations[0].turns[0]), 170);
  }
}

}  // namespace
}  // namespace banyan::loadtest
