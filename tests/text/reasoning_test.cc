// Reasoning is split off where the template's family marks it, however the text comes in pieces.
#include "text/reasoning.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "text/stream.h"

namespace banyan::text {
namespace {

using Start = ReasoningSplitter::Start;

const ReasoningMarks kThink = {"<think>", "</think>"};

struct Parts {
  std::string reasoning;
  std::string answer;
  bool operator==(const Parts&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Parts& parts) {
  return out << testing::PrintToString(parts.reasoning) << " then "
             << testing::PrintToString(parts.answer);
}

void Add(Parts& parts, const ReasoningSplitter::Output& output) {
  parts.reasoning += output.reasoning;
  parts.answer += output.answer;
}

// `cuts`: bit i cuts behind byte i.
Parts Split(const std::string& text, Start start, unsigned cuts) {
  ReasoningSplitter splitter(kThink, start);
  Parts parts;
  std::string pending;
  for (std::size_t i = 0; i < text.size(); ++i) {
    pending += text[i];
    if ((cuts >> (i % 32) & 1) == 0) continue;
    Add(parts, splitter.Push(pending));
    pending.clear();
  }
  Add(parts, splitter.Push(pending));
  Add(parts, splitter.Finish());
  return parts;
}

void ExpectSplit(const std::string& text, Start start, const Parts& wanted) {
  EXPECT_EQ(Split(text, start, 0), wanted) << text;
  EXPECT_EQ(Split(text, start, ~0u), wanted) << text;
  for (unsigned cuts = 1; cuts < 2000; ++cuts) {
    ASSERT_EQ(Split(text, start, cuts * 2654435761u), wanted) << text << " cut " << cuts;
  }
}

TEST(ReasoningSplitter, PartsReasoningFromAnswer) {
  ExpectSplit("<think>why</think>so", Start::kAnswer, {"why", "so"});
  ExpectSplit("\n <think>\n\nwhy \n not\n</think>\n\nso it is \n", Start::kAnswer,
              {"why \n not", "so it is \n"});
  ExpectSplit("<think></think>so", Start::kAnswer, {"", "so"});
  ExpectSplit("<think>\n\n</think>\n\nso", Start::kAnswer, {"", "so"});
  ExpectSplit("<think>why</think>", Start::kAnswer, {"why", ""});
}

TEST(ReasoningSplitter, ThePromptMayHaveOpenedIt) {
  ExpectSplit("\nwhy\n</think>\n\nso", Start::kReasoning, {"why", "so"});
  ExpectSplit("</think>so", Start::kReasoning, {"", "so"});
  ExpectSplit("why", Start::kReasoning, {"why", ""});
}

TEST(ReasoningSplitter, WithoutMarksEverythingIsTheAnswer) {
  ExpectSplit("so it is", Start::kAnswer, {"", "so it is"});
  ExpectSplit("  so", Start::kAnswer, {"", "  so"});
  ExpectSplit("<thin ice", Start::kAnswer, {"", "<thin ice"});
  ExpectSplit("", Start::kAnswer, {"", ""});
  ExpectSplit("  ", Start::kAnswer, {"", "  "});
  // Once the answer has begun, marks are text.
  ExpectSplit("so <think>a</think>", Start::kAnswer, {"", "so <think>a</think>"});
  ExpectSplit("<think>a</think>b<think>c</think>", Start::kAnswer, {"a", "b<think>c</think>"});
}

TEST(ReasoningSplitter, WhatLooksLikeAMarkIsText) {
  ExpectSplit("<think>a </thin b < </thinkk </</think>c", Start::kAnswer,
              {"a </thin b < </thinkk </", "c"});
  ExpectSplit("<think>a</thin", Start::kAnswer, {"a</thin", ""});
  ExpectSplit("<thi", Start::kAnswer, {"", "<thi"});
}

TEST(ReasoningSplitter, NothingIsHeldThatIsCertain) {
  ReasoningSplitter splitter(kThink, Start::kAnswer);
  EXPECT_EQ(splitter.Push("<think>abc").reasoning, "abc");
  EXPECT_EQ(splitter.Push(" ").reasoning, "");
  EXPECT_EQ(splitter.Push("d</").reasoning, " d");
  EXPECT_EQ(splitter.Push("x").reasoning, "</x");
  EXPECT_EQ(splitter.Push("</think>").reasoning, "");
  EXPECT_EQ(splitter.Push("\n").answer, "");
  EXPECT_EQ(splitter.Push("e <").answer, "e <");
}

TEST(ReasoningSplitter, StartsInTheReasoningWhereTheTemplateLeftItOpen) {
  const auto after = [](std::vector<Piece> prompt) {
    return ReasoningSplitter::StartAfter(kThink, prompt);
  };
  const Origin t = Origin::kTemplate;
  const Origin m = Origin::kMessage;
  EXPECT_EQ(after({{"a<think>", t}}), Start::kReasoning);
  EXPECT_EQ(after({{"b", m}, {"a<think>\n", t}, {" ", m}}), Start::kReasoning);
  EXPECT_EQ(after({{"a<think></think>\n", t}}), Start::kAnswer);
  EXPECT_EQ(after({{"a", t}}), Start::kAnswer);
  EXPECT_EQ(after({}), Start::kAnswer);
  // A user who types it opens nothing.
  EXPECT_EQ(after({{"a", t}, {"<think>", m}}), Start::kAnswer);
  EXPECT_EQ(after({{"<think", t}, {">", m}}), Start::kAnswer);
}

TEST(ReasoningMarks, AreThoseOfTheTemplatesFamily) {
  const auto begin = [](const std::string& text) {
    const auto marks = ReasoningMarksOf(text);
    return marks ? marks->begin : "none";
  };
  EXPECT_EQ(begin("{{ c.split('</think>')[-1] }}"), "<think>");
  EXPECT_EQ(begin("{{ '<seed:think>' ~ r ~ '</seed:think>' }}"), "<seed:think>");
  EXPECT_EQ(begin("[THINK]{{ r }}[/THINK]"), "[THINK]");
  EXPECT_EQ(begin("<|START_THINKING|>{{ r }}<|END_THINKING|>"), "<|START_THINKING|>");
  EXPECT_EQ(begin("\u25C1think\u25B7{{ r }}\u25C1/think\u25B7"), "\u25C1think\u25B7");
  EXPECT_EQ(begin("<|channel>thought\n{{ r }}\n<channel|>"), "<|channel>thought");
  EXPECT_EQ(begin("{{ message.content }}"), "none");
}

}  // namespace
}  // namespace banyan::text
