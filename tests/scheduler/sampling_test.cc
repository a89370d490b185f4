// Requests that ask for more than tokens, or for fewer: prompts only computed, scored prompts, end
// tokens held back.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/fixture.h"

namespace banyan::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

Ask AskOf(std::vector<TokenId> prompt, std::int64_t max_tokens) {
  Ask ask;
  ask.prompt = std::move(prompt);
  ask.max_tokens = max_tokens;
  return ask;
}

Ask Scored(std::vector<TokenId> prompt, std::int64_t max_tokens, std::int32_t top = 0) {
  Ask ask = AskOf(std::move(prompt), max_tokens);
  ask.score_prompt = true;
  ask.top_logprobs = top;
  return ask;
}

TEST(PromptOnly, IsComputedAndKeptAndNothingIsSampled) {
  for (const std::size_t length : {1u, 3u, 4u, 5u, 15u, 16u, 17u, 40u}) {
    Engine engine({.page_size = 4, .max_batch_tokens = 16});
    const RequestId a = engine.Submit(Prompt(1, length), 0);
    engine.Run();
    const Answer& answer = engine[a];
    EXPECT_EQ(answer.reason, FinishReason::kLength);
    EXPECT_THAT(answer.tokens, IsEmpty());
    EXPECT_EQ(answer.usage.prompt_tokens, static_cast<std::int64_t>(length));
    EXPECT_EQ(answer.usage.output_tokens, 0);
    EXPECT_EQ(answer.observed.first_token, 0);
    EXPECT_EQ(answer.observed.finished, 1);
    EXPECT_EQ(engine.model().computed(), static_cast<std::int64_t>(length));
    EXPECT_EQ(engine.Cached(Prompt(1, length)), static_cast<std::int64_t>(length));
    EXPECT_EQ(engine.HeldPages(), 0);

    const RequestId next = engine.Submit(Join(Prompt(1, length), {7}), 2);
    engine.Run();
    EXPECT_EQ(engine[next].cached_tokens, static_cast<std::int64_t>(length));
    EXPECT_EQ(engine[next].tokens, Expected(Join(Prompt(1, length), {7}), 2).tokens);
  }
}

TEST(PromptOnly, NeedsThePagesOfItsPrompt) {
  for (const std::size_t length : {19u, 20u, 21u}) {  // five pages are left of ten
    Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 64});
    engine.Submit(Prompt(1, 17), 4);  // five pages
    const RequestId a = engine.Submit(Prompt(2, length), 0);
    engine.Step();
    EXPECT_EQ(engine[a].admitted, length <= 20);
    engine.Run();
    EXPECT_EQ(engine[a].reason, FinishReason::kLength);
  }
}

TEST(PromptOnly, MustFitAsAnyPromptMust) {
  for (const std::size_t length : {15u, 16u}) {
    Engine engine({.page_size = 4, .pages = 4});
    const RequestId a = engine.Submit(Prompt(1, length), 0);
    engine.Run();
    EXPECT_EQ(engine[a].reason, length < 16 ? FinishReason::kLength : FinishReason::kRefused);
  }
}

TEST(PromptOnly, CanBeCancelledInItsLastStep) {
  Engine engine({.page_size = 4});
  const RequestId a = engine.Submit(Prompt(1, 6), 0);
  engine.Begin();
  engine.Cancel(a);
  engine.End();
  EXPECT_EQ(engine[a].reason, FinishReason::kCancelled);
  EXPECT_EQ(engine.Cached(Prompt(1, 6)), 6);
}

TEST(MinTokens, HoldsEndTokensBackUntilSoManyWereSampled) {
  const std::vector<TokenId> prompt = Prompt(1, 5);
  // Whatever the model says is an end token: without min_tokens the answer is empty.
  std::vector<TokenId> most;
  for (TokenId token = 0; token < FakeModel::kVocabulary - 1; ++token) most.push_back(token);
  for (const std::int64_t min_tokens : {0, 1, 2, 5}) {
    Engine engine({});
    Ask ask = AskOf(prompt, 20);
    ask.min_tokens = min_tokens;
    ask.end_tokens = most;
    const RequestId a = engine.Submit(ask);
    engine.Run();
    EXPECT_EQ(engine[a].tokens, std::vector<TokenId>(static_cast<std::size_t>(min_tokens),
                                                     FakeModel::kVocabulary - 1));
    EXPECT_EQ(engine[a].reason, FinishReason::kStop);
    EXPECT_EQ(engine[a].usage.output_tokens, min_tokens + 1);
  }
}

TEST(MinTokens, OfAllTheAnswer) {
  for (const std::int64_t min_tokens : {3, 4, 5}) {
    Engine engine({});
    Ask ask = AskOf(Prompt(1, 5), 4);
    ask.min_tokens = min_tokens;
    ask.end_tokens = {FakeModel::TokenAfter(Join(ask.prompt, Expected(ask.prompt, 3).tokens))};
    const RequestId a = engine.Submit(ask);
    engine.Run();
    const Oracle oracle = Expected(ask.prompt, 4, ask.end_tokens, min_tokens);
    EXPECT_EQ(engine[a].tokens, oracle.tokens);
    EXPECT_EQ(engine[a].reason, min_tokens < 4 ? FinishReason::kStop : FinishReason::kLength);
  }
}

TEST(PromptScores, AreThoseOfEveryTokenButTheFirst) {
  for (const std::int32_t top : {0, 1, kMaxTopLogprobs}) {
    for (const std::size_t length : {1u, 2u, 15u, 16u, 17u, 18u, 40u}) {
      for (const std::int64_t max_tokens : {0, 1, 3}) {
        Engine engine({.page_size = 4, .max_batch_tokens = 16});
        const std::vector<TokenId> prompt = Prompt(1, length);
        const RequestId a = engine.Submit(Scored(prompt, max_tokens, top));
        engine.Run();
        ExpectSame(engine[a].prompt_scores, ExpectedScores(prompt, 1, top));
        EXPECT_EQ(engine[a].tokens, Expected(prompt, max_tokens).tokens);
        EXPECT_EQ(engine[a].reason, FinishReason::kLength);
      }
    }
  }
}

TEST(PromptScores, TakeNoMatchAndLeaveOneCopy) {
  Engine engine({.page_size = 4});
  const std::vector<TokenId> prompt = Prompt(1, 22);
  engine.Submit(prompt, 3);
  engine.Run();
  const std::int64_t cached = engine.cache().stats().cached_tokens;
  const RequestId a = engine.Submit(Scored(prompt, 3));
  engine.Run();
  EXPECT_EQ(engine[a].cached_tokens, 0);
  EXPECT_EQ(engine[a].usage.cached_tokens, 0);
  ExpectSame(engine[a].prompt_scores, ExpectedScores(prompt, 1, 0));
  EXPECT_EQ(engine.cache().stats().cached_tokens, cached);
  EXPECT_EQ(engine.cache().stats().deduplicated_pages, 6) << "of 24 slots";
  EXPECT_EQ(engine.HeldPages(), 0);
  const RequestId plain = engine.Submit(prompt, 3);
  engine.Run();
  EXPECT_EQ(engine[plain].cached_tokens, 21);
}

TEST(PromptScores, LeavePagesThatOthersMatch) {
  Engine engine({.page_size = 4});
  engine.Submit(Scored(Prompt(1, 22), 0));
  engine.Run();
  const RequestId plain = engine.Submit(Prompt(1, 22), 3);
  engine.Run();
  EXPECT_EQ(engine[plain].cached_tokens, 21);
  EXPECT_EQ(engine[plain].tokens, Expected(Prompt(1, 22), 3).tokens);
}

// The whole pool is cache of the very prompt, which a scored one must still compute anew.
TEST(PromptScores, OfAPromptAsLargeAsThePool) {
  Engine engine({.page_size = 4, .pages = 4});
  const std::vector<TokenId> prompt = Prompt(1, 15);
  engine.Submit(prompt, 2);
  engine.Run();
  const RequestId a = engine.Submit(Scored(prompt, 2));
  engine.Run();
  EXPECT_EQ(engine[a].reason, FinishReason::kLength);
  ExpectSame(engine[a].prompt_scores, ExpectedScores(prompt, 1, 0));
}

// Admission, the scores of two steps, three tokens.
TEST(PromptScores, AreOneEventPerStep) {
  for (const std::size_t capacity : {5u, 6u, 7u}) {
    Engine engine({.page_size = 4, .max_batch_tokens = 16});
    Ask ask = Scored(Prompt(1, 20), 3);
    ask.stream_capacity = capacity;
    const RequestId a = engine.Submit(ask);
    engine[a].reads = false;
    engine.Run();
    EXPECT_EQ(engine[a].observed.reason,
              capacity < 6 ? FinishReason::kSlowReader : FinishReason::kLength);
    EXPECT_EQ(engine.HeldPages(), 0);
  }
}

TEST(PromptScores, ThatFindNoRoomEndTheRequest) {
  Engine engine({.page_size = 4, .max_batch_tokens = 16});
  Ask ask = Scored(Prompt(1, 20), 3);
  ask.stream_capacity = 1;
  const RequestId slow = engine.Submit(ask);
  engine[slow].reads = false;
  const RequestId other = engine.Submit(Prompt(2, 5), 3);
  engine.Run();
  EXPECT_EQ(engine[slow].observed.reason, FinishReason::kSlowReader);
  EXPECT_EQ(engine[slow].observed.usage.output_tokens, 0);
  EXPECT_EQ(engine[other].tokens, Expected(Prompt(2, 5), 3).tokens);
  EXPECT_EQ(engine.HeldPages(), 0);
}

TEST(PromptScores, OfACancelledRequestAreDropped) {
  Engine engine({.page_size = 4, .max_batch_tokens = 16});
  const RequestId a = engine.Submit(Scored(Prompt(1, 30), 3));
  engine.Step();
  engine.Begin();
  engine.Cancel(a);
  engine.End();
  EXPECT_EQ(engine[a].reason, FinishReason::kCancelled);
  EXPECT_THAT(engine[a].prompt_scores, SizeIs(16));
}

}  // namespace
}  // namespace banyan::scheduler
