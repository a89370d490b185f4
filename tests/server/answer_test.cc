#include "server/openai/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/server/thinking_codec.h"
#include "text/codec.h"

namespace banyan::server::openai {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Bytes are tokens here, so that a text is its own token ids.
constexpr TokenId kControl = 256;  // a token without text

class AnswerTest : public ::testing::Test {
 protected:
  static TokenId Byte(char c) { return static_cast<unsigned char>(c); }

  // What came with each byte's token; its log-probability says which token of the answer it is.
  std::vector<Delta> Push(Answer& answer, std::string_view bytes) {
    std::vector<Delta> deltas;
    for (const char c : bytes) deltas.push_back(PushToken(answer, Byte(c)));
    return deltas;
  }
  Delta PushToken(Answer& answer, TokenId token) {
    return answer.Push({.token = token, .log_probability = pushed_++, .top = {}});
  }
  std::string TextOf(const std::vector<Delta>& deltas) {
    std::string text;
    for (const Delta& delta : deltas) text += delta.text;
    return text;
  }
  // Which tokens the entries are of.
  static std::vector<int> Indices(const Delta& delta) {
    std::vector<int> indices;
    for (const Entry& entry : delta.entries) {
      indices.push_back(static_cast<int>(*entry.log_probability));
    }
    return indices;
  }
  static std::vector<std::int64_t> Offsets(const Delta& delta) {
    std::vector<std::int64_t> offsets;
    for (const Entry& entry : delta.entries) offsets.push_back(entry.offset);
    return offsets;
  }

  std::unique_ptr<const text::Codec> codec_ = text::Codec::ForBytes();
  float pushed_ = 0;
};

TEST_F(AnswerTest, TheBytesAreTheirOwnTokens) {
  EXPECT_EQ(*codec_->Encode("\x01z", text::ControlTokens::kPlainText),
            (std::vector<TokenId>{Byte('\x01'), Byte('z')}));
  EXPECT_TRUE(codec_->TokenBytes(kControl).empty());
}

TEST_F(AnswerTest, TextComesInWholeCharacters) {
  Answer answer(*codec_, {});
  const std::vector<Delta> deltas = Push(answer, "é!");
  ASSERT_EQ(deltas.size(), 3U);
  EXPECT_EQ(deltas[0].text, "");
  EXPECT_EQ(deltas[1].text, "é");
  EXPECT_EQ(deltas[2].text, "!");
  EXPECT_TRUE(answer.Finish().empty());
  EXPECT_EQ(answer.tokens(), 3);
}

TEST_F(AnswerTest, AStopStringEndsTheTextBeforeItAndTheCountAfterIt) {
  Answer answer(*codec_, {.stops = {"END"}});
  EXPECT_EQ(TextOf(Push(answer, "ab EN")), "ab ");
  EXPECT_FALSE(answer.stopped());
  EXPECT_EQ(TextOf(Push(answer, "D and more")), "");
  EXPECT_TRUE(answer.stopped());
  EXPECT_EQ(answer.tokens(), 6) << "the tokens after the stop string do not count";
  EXPECT_TRUE(answer.Finish().empty());
}

TEST_F(AnswerTest, WhatOnlyBeganAStopStringComesAtTheEnd) {
  Answer answer(*codec_, {.stops = {"END"}});
  EXPECT_EQ(TextOf(Push(answer, "xEN")), "x");
  EXPECT_EQ(answer.Finish().text, "EN");
  EXPECT_FALSE(answer.stopped());
}

TEST_F(AnswerTest, TheTextOfTheFirstTokensIsNotSearchedForStopStrings) {
  for (const std::int64_t min_tokens : {1, 2, 3}) {
    Answer answer(*codec_, {.stops = {"b"}, .min_tokens = min_tokens});
    Push(answer, "ab-b-");
    EXPECT_EQ(answer.tokens(), min_tokens < 2 ? 2 : 4) << min_tokens;
  }
  Answer answer(*codec_, {.stops = {"bb"}, .min_tokens = 2});
  const std::string text = TextOf(Push(answer, "abb"));
  EXPECT_EQ(text + answer.Finish().text, "abb") << "a stop string begins after them";
}

TEST_F(AnswerTest, EntriesComeOnlyWhenWanted) {
  Answer answer(*codec_, {});
  EXPECT_THAT(Push(answer, "a")[0].entries, IsEmpty());
}

TEST_F(AnswerTest, AnEntryComesWithItsText) {
  Answer answer(*codec_, {.entries = true});
  const std::vector<Delta> deltas = Push(answer, "aé!");
  EXPECT_THAT(Indices(deltas[0]), ElementsAre(0));
  EXPECT_THAT(Indices(deltas[1]), IsEmpty());
  EXPECT_THAT(Indices(deltas[2]), ElementsAre(1, 2)) << "two tokens are one character";
  EXPECT_THAT(Indices(deltas[3]), ElementsAre(3));
  EXPECT_EQ(deltas[3].entries[0].token, Byte('!'));
  EXPECT_TRUE(answer.Finish().empty());
}

TEST_F(AnswerTest, OffsetsCountCharacters) {
  Answer answer(*codec_, {.entries = true, .offset = 10});
  const std::vector<Delta> deltas = Push(answer, "aé!");
  EXPECT_THAT(Offsets(deltas[0]), ElementsAre(10));
  EXPECT_THAT(Offsets(deltas[2]), ElementsAre(11, 11));
  EXPECT_THAT(Offsets(deltas[3]), ElementsAre(12));
}

TEST_F(AnswerTest, EntriesAreHeldBackWithTheirText) {
  Answer answer(*codec_, {.stops = {"END"}, .entries = true});
  const std::vector<Delta> deltas = Push(answer, "xENx");
  EXPECT_THAT(Indices(deltas[0]), ElementsAre(0));
  EXPECT_THAT(Indices(deltas[1]), IsEmpty());
  EXPECT_THAT(Indices(deltas[2]), IsEmpty());
  EXPECT_THAT(Indices(deltas[3]), ElementsAre(1, 2, 3));
  EXPECT_EQ(deltas[3].text, "ENx");
}

TEST_F(AnswerTest, WhatIsHeldAtTheEndComesWithItsEntries) {
  Answer answer(*codec_, {.stops = {"END"}, .entries = true});
  Push(answer, "xEN\xE6");
  const Delta rest = answer.Finish();
  EXPECT_EQ(rest.text, "EN\xEF\xBF\xBD");
  EXPECT_THAT(Indices(rest), ElementsAre(1, 2, 3));
}

TEST_F(AnswerTest, TokensThatAStopStringCutsOffHaveNoEntries) {
  Answer answer(*codec_, {.stops = {"END"}, .entries = true});
  Delta all;
  for (Delta& delta : Push(answer, "aEEND and more")) all.Append(std::move(delta));
  all.Append(answer.Finish());
  EXPECT_EQ(all.text, "aE");
  EXPECT_THAT(Indices(all), ElementsAre(0, 1));
}

TEST_F(AnswerTest, ACharacterThatAStopStringCutsOffHasNoEntries) {
  Answer answer(*codec_, {.stops = {"é"}, .entries = true});
  Delta all;
  for (Delta& delta : Push(answer, "aé")) all.Append(std::move(delta));
  all.Append(answer.Finish());
  EXPECT_THAT(Indices(all), ElementsAre(0));
}

TEST_F(AnswerTest, ATokenWithoutTextGoesWithTheNextOrTheEnd) {
  Answer answer(*codec_, {.entries = true});
  EXPECT_TRUE(PushToken(answer, kControl).empty());
  const std::vector<Delta> deltas = Push(answer, "a");
  EXPECT_THAT(Indices(deltas[0]), ElementsAre(0, 1));
  EXPECT_TRUE(PushToken(answer, kControl).empty());
  EXPECT_THAT(Indices(answer.Finish()), ElementsAre(2));
}

class ReasoningTest : public AnswerTest {
 protected:
  // All of an answer to a prompt that opened no reasoning.
  Delta Say(Answer& answer, std::string_view bytes) {
    Delta all;
    for (Delta& delta : Push(answer, bytes)) all.Append(std::move(delta));
    all.Append(answer.Finish());
    return all;
  }
  Answer::Options Options(std::vector<std::string> stops) {
    return {.stops = std::move(stops),
            .entries = true,
            .reasoning = text::ReasoningSplitter::Start::kAnswer};
  }

  const ThinkingCodec thinking_{""};
};

TEST_F(ReasoningTest, StopStringsAreFoundInTheReasoningToo) {
  Answer answer(thinking_, Options({"STOP"}));
  const Delta all = Say(answer, "<think>Let me STOP here</think>Yes");
  EXPECT_EQ(all.reasoning, "Let me ");
  EXPECT_EQ(all.text, "");
  EXPECT_TRUE(answer.stopped());
  EXPECT_EQ(answer.reasoning_tokens(), answer.tokens()) << "all of it";
}

TEST_F(ReasoningTest, WhatAMarkBeganIsTextWhenTheAnswerEnds) {
  Answer open(thinking_, Options({"STOP"}));
  EXPECT_EQ(Say(open, "<think>a</thi").reasoning, "a</thi");
  Answer stopped(thinking_, Options({"STOP"}));
  EXPECT_EQ(Say(stopped, "<think>a</thiSTOP").reasoning, "a</thi");
}

TEST_F(ReasoningTest, NoEntryIsLost) {
  Answer answer(thinking_, Options({}));
  EXPECT_THAT(Indices(Say(answer, "<think>a</think>b")),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16));
  EXPECT_EQ(answer.reasoning_tokens(), 16);
}

TEST_F(ReasoningTest, AMarkThatIsNotAtTheBeginningIsText) {
  Answer answer(thinking_, Options({}));
  EXPECT_EQ(Say(answer, "No <think>a</think>b").text, "No <think>a</think>b");
  EXPECT_EQ(answer.reasoning_tokens(), 0);
}

}  // namespace
}  // namespace banyan::server::openai
