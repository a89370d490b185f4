#include "scheduler/fit.h"

#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "scheduler/request_state.h"

namespace banyan::scheduler {
namespace {

constexpr std::int64_t kNone = -1;  // no max_tokens was given
constexpr std::int64_t kHuge = INT64_MAX;

// A context of 100 over a pool of 64 pages of 4: the context is the tighter one.
const Options kContext100{.max_batch_tokens = 64, .max_running = 4, .context_length = 100};
const radix::Options kPool256{.page_size = 4, .pages = 64};
// And the other way round.
const Options kContext1000{.max_batch_tokens = 64, .max_running = 4, .context_length = 1000};
const radix::Options kPool40{.page_size = 4, .pages = 10};

absl::StatusCode Code(const Options& options, const radix::Options& cache, std::int64_t prompt,
                      std::int64_t max_tokens) {
  return CheckFits(options, cache, prompt, max_tokens).code();
}

constexpr absl::StatusCode kOk = absl::StatusCode::kOk;
constexpr absl::StatusCode kOver = absl::StatusCode::kOutOfRange;

TEST(CheckFits, ThePromptAndOneMoreMustFitTheContext) {
  EXPECT_EQ(Code(kContext100, kPool256, 98, kNone), kOk);
  EXPECT_EQ(Code(kContext100, kPool256, 99, kNone), kOk);
  EXPECT_EQ(Code(kContext100, kPool256, 100, kNone), kOver);
  EXPECT_EQ(Code(kContext100, kPool256, 101, kNone), kOver);
}

TEST(CheckFits, ThePromptAndOneMoreMustFitThePool) {
  EXPECT_EQ(Code(kContext1000, kPool40, 38, kNone), kOk);
  EXPECT_EQ(Code(kContext1000, kPool40, 39, kNone), kOk);
  EXPECT_EQ(Code(kContext1000, kPool40, 40, kNone), kOver);
  EXPECT_EQ(Code(kContext1000, kPool40, 41, kNone), kOver);
}

TEST(CheckFits, ThePromptAndMaxTokensMustFitTheContext) {
  EXPECT_EQ(Code(kContext100, kPool256, 60, 0), kOk);
  EXPECT_EQ(Code(kContext100, kPool256, 60, 39), kOk);
  EXPECT_EQ(Code(kContext100, kPool256, 60, 40), kOk);
  EXPECT_EQ(Code(kContext100, kPool256, 60, 41), kOver);
  EXPECT_EQ(Code(kContext100, kPool256, 60, kHuge), kOver) << "without overflow";
}

TEST(CheckFits, MaxTokensMayBeOverThePool) {
  EXPECT_EQ(Code(kContext1000, kPool40, 20, 980), kOk);
  EXPECT_EQ(Code(kContext1000, kPool40, 20, 981), kOver);
}

TEST(CheckFits, SaysWhichNumbersDoNotFit) {
  const Options context{.max_batch_tokens = 256, .max_running = 64, .context_length = 8192};
  const radix::Options pool{.page_size = 16, .pages = 1024};
  EXPECT_EQ(CheckFits(context, pool, 9000, kNone).message(),
            "the prompt has 9000 tokens, with one more 9001: over the context of 8192");
  EXPECT_EQ(CheckFits(context, pool, 8000, 500).message(),
            "the prompt has 8000 tokens and max_tokens is 500: together over the context of 8192");
  EXPECT_EQ(CheckFits(kContext1000, kPool40, 40, kNone).message(),
            "the prompt has 40 tokens, with one more 41: over the KV pool of 40");
}

absl::Status Check(const KvPolicy& policy, const Options& options = kContext100,
                   const radix::Options& cache = kPool256) {
  return CheckPolicy(options, cache, policy);
}

TEST(CheckPolicy, SinksHaveABound) {
  EXPECT_EQ(Check({.sinks = -1, .window = 16}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Check({.sinks = 0, .window = 16}).code(), kOk);
  const Options wide{.max_batch_tokens = 64, .max_running = 4, .context_length = 1000};
  EXPECT_EQ(Check({.sinks = 64, .window = 64}, wide, {.page_size = 4, .pages = 100}).code(), kOk);
  EXPECT_EQ(Check({.sinks = 65, .window = 65}, wide).message(), "sinks must be between 0 and 64");
}

TEST(CheckPolicy, TheWindowIsNotSmallerThanTheSinks) {
  EXPECT_EQ(Check({.sinks = 4, .window = 4}).code(), kOk);
  EXPECT_EQ(Check({.sinks = 4, .window = 3}).message(),
            "the window of 3 tokens is smaller than the sinks, 4");
  EXPECT_EQ(Check({.sinks = 0, .window = 1}).code(), kOk);
  EXPECT_EQ(Check({.sinks = 0, .window = 0}).message(), "the window of 0 tokens is smaller than 1");
  EXPECT_EQ(Check({.sinks = 0, .window = -5}).code(), absl::StatusCode::kInvalidArgument);
}

TEST(CheckPolicy, SinksAndWindowFitTheContext) {
  const radix::Options pool{.page_size = 4, .pages = 100};
  EXPECT_EQ(Check({.sinks = 4, .window = 96}, kContext100, pool).code(), kOk);
  EXPECT_EQ(Check({.sinks = 4, .window = 97}).message(),
            "4 sinks and a window of 97 tokens are over the context of 100");
  EXPECT_EQ(Check({.sinks = 4, .window = kHuge}).code(), kOver) << "without overflow";
}

// Pages of 4: 3 of exact tokens, and what a step of 8 tokens needs behind a window of 8.
TEST(CheckPolicy, WhatItKeepsFitsThePool) {
  const KvPolicy policy{.sinks = 4, .window = 8};
  EXPECT_EQ(Check(policy, kContext100, {.page_size = 4, .pages = 8}).code(), kOk);
  EXPECT_EQ(Check(policy, kContext100, {.page_size = 4, .pages = 7}).message(),
            "4 sinks and a window of 8 tokens take up to 8 pages: over the KV pool of 7");
}

TEST(CheckFits, APolicyLiftsContextAndPool) {
  const KvPolicy policy{.sinks = 4, .window = 8};
  const auto code = [&](std::int64_t prompt, std::int64_t max_tokens) {
    return CheckFits(kContext100, kPool40, prompt, max_tokens, policy).code();
  };
  EXPECT_EQ(code(1000, kNone), kOk);
  EXPECT_EQ(code(1000, kMaxPolicyTokens - 1000), kOk);
  EXPECT_EQ(code(1000, kMaxPolicyTokens - 999), kOver);
  EXPECT_EQ(code(1000, kHuge), kOver) << "without overflow";
  EXPECT_EQ(code(kMaxPolicyTokens - 1, kNone), kOk);
  EXPECT_EQ(code(kMaxPolicyTokens, kNone), kOver);
  EXPECT_EQ(CheckFits(kContext100, kPool40, 5, 5, KvPolicy{.sinks = 4, .window = 200}).code(),
            kOver);
}

TEST(MaxOutput, UnderAPolicyIsWhatWasAsked) {
  const auto policy = MakePolicy({.sinks = 4, .window = 8}, 4, 64);
  const OutputBound asked = MaxOutput(kContext100, kPool40, 200, 5000, policy.get());
  EXPECT_EQ(asked.tokens, 5000);
  EXPECT_EQ(asked.limit, LengthLimit::kMaxTokens);
  const OutputBound most = MaxOutput(kContext100, kPool40, 200, kHuge, policy.get());
  EXPECT_EQ(most.tokens, kMaxPolicyTokens - 200);
  EXPECT_EQ(most.limit, LengthLimit::kContext);
}

// A prompt of 20 in a pool of 10 pages of four, of which a budget of 8 survives.
TEST(MaxOutput, IsBoundedByThePoolWhereAPolicyHoldsTheAnswer) {
  using Type = KvPolicy::Type;
  const auto bound = [](Type type, std::int64_t prompt) {
    const auto policy = MakePolicy({.type = type, .budget = 8}, 4, 64);
    const OutputBound most = MaxOutput(kContext1000, kPool40, prompt, kHuge, policy.get());
    EXPECT_EQ(most.limit, most.tokens < 900 ? LengthLimit::kPool : LengthLimit::kContext);
    return most.tokens;
  };
  EXPECT_EQ(bound(Type::kQuest, 20), 21) << "as without one";
  EXPECT_EQ(bound(Type::kSnapKv, 20), 13) << "five pages of prompt, then 8 + 12 slots";
  EXPECT_EQ(bound(Type::kSnapKv, 8), 33) << "a prompt within the budget is kept";
  EXPECT_EQ(bound(Type::kH2o, 20), 980);
  EXPECT_EQ(bound(Type::kScissorhands, 20), 980);
}

TEST(MaxOutput, IsWhatWasAskedWhereThatFits) {
  EXPECT_EQ(MaxOutput(kContext100, kPool256, 60, 1).tokens, 1);
  EXPECT_EQ(MaxOutput(kContext100, kPool256, 60, 39).tokens, 39);
  EXPECT_EQ(MaxOutput(kContext100, kPool256, 60, 40).tokens, 40);
}

TEST(MaxOutput, EndsWithTheContext) {
  EXPECT_EQ(MaxOutput(kContext100, kPool256, 60, 41).tokens, 40);
  EXPECT_EQ(MaxOutput(kContext100, kPool256, 60, kHuge).tokens, 40);
  EXPECT_EQ(MaxOutput(kContext100, kPool256, 99, kHuge).tokens, 1);
}

// The last token needs no slot: a pool of 40 slots takes a prompt of 30 and 11 tokens of answer.
TEST(MaxOutput, EndsWithThePool) {
  EXPECT_EQ(MaxOutput(kContext1000, kPool40, 30, 10).tokens, 10);
  EXPECT_EQ(MaxOutput(kContext1000, kPool40, 30, 11).tokens, 11);
  EXPECT_EQ(MaxOutput(kContext1000, kPool40, 30, 12).tokens, 11);
  EXPECT_EQ(MaxOutput(kContext1000, kPool40, 39, kHuge).tokens, 2);
}

TEST(MaxOutput, SaysWhatTheAnswerWouldRunInto) {
  EXPECT_EQ(MaxOutput(kContext100, kPool256, 60, 40).limit, LengthLimit::kMaxTokens);
  EXPECT_EQ(MaxOutput(kContext100, kPool256, 60, 41).limit, LengthLimit::kContext);
  EXPECT_EQ(MaxOutput(kContext1000, kPool40, 30, 11).limit, LengthLimit::kMaxTokens);
  EXPECT_EQ(MaxOutput(kContext1000, kPool40, 30, 12).limit, LengthLimit::kPool);
}

TEST(MaxOutput, MayBeNothing) {
  EXPECT_EQ(MaxOutput(kContext100, kPool256, 99, 0).tokens, 0);
  EXPECT_EQ(MaxOutput(kContext1000, kPool40, 39, 0).tokens, 0);
}

TEST(SlotsFor, TheLastTokenNeedsNone) {
  EXPECT_EQ(SlotsFor(10, 0), 10) << "a prompt that is only computed";
  EXPECT_EQ(SlotsFor(10, 1), 10);
  EXPECT_EQ(SlotsFor(10, 2), 11);
}

TEST(PagesFor, RoundsUp) {
  EXPECT_EQ(PagesFor(0, 4), 0);
  EXPECT_EQ(PagesFor(1, 4), 1);
  EXPECT_EQ(PagesFor(4, 4), 1);
  EXPECT_EQ(PagesFor(5, 4), 2);
  EXPECT_EQ(PagesFor(5, 1), 5);
}

TEST(RequestState, EveryLivingStateCanFinishAndNothingLeavesFinished) {
  using enum RequestState;
  for (const RequestState state : {kWaiting, kFollowing, kPrefill, kDecode, kEnding}) {
    EXPECT_TRUE(MayMove(state, kFinished));
    EXPECT_FALSE(MayMove(kFinished, state));
    EXPECT_FALSE(MayMove(state, state));
  }
  EXPECT_FALSE(MayMove(kFinished, kFinished));
  EXPECT_FALSE(MayMove(kEnding, kWaiting)) << "what was cancelled does not come back";
}

TEST(RequestState, ARequestIsPrefilledBeforeItDecodes) {
  using enum RequestState;
  EXPECT_TRUE(MayMove(kWaiting, kPrefill));
  EXPECT_TRUE(MayMove(kPrefill, kDecode));
  EXPECT_FALSE(MayMove(kWaiting, kDecode));
  EXPECT_FALSE(MayMove(kDecode, kPrefill));
}

TEST(RequestState, OnlyWhatRunsCanBeEnding) {
  using enum RequestState;
  EXPECT_FALSE(MayMove(kWaiting, kEnding));
  EXPECT_TRUE(MayMove(kPrefill, kEnding));
  EXPECT_TRUE(MayMove(kDecode, kEnding));
  EXPECT_FALSE(MayMove(kEnding, kDecode));
}

}  // namespace
}  // namespace banyan::scheduler
