// Requests whose answers read a part of what they keep (policies/quest.h), in pages of four tokens.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/policies/policy.h"
#include "tests/scheduler/fixture.h"
#include "tests/scheduler/under_policy.h"

namespace banyan::scheduler {
namespace {

constexpr KvPolicy kQuest{.type = KvPolicy::Type::kQuest, .budget = 12, .dense_layers = 3};

Ask Choosing(std::vector<TokenId> prompt, std::int64_t max_tokens,
             const KvPolicy& policy = kQuest) {
  return AskUnder(std::move(prompt), max_tokens, policy);
}

TEST(QuestPolicy, WholePagesOfTheBudgetAreRead) {
  const auto choice = [](std::int64_t budget) {
    KvPolicy policy = kQuest;
    policy.budget = budget;
    return MakePolicy(policy, 4, 16)->choice();
  };
  EXPECT_EQ(choice(4), (kernels::PageChoice{.pages = 1, .dense_layers = 3}));
  EXPECT_EQ(choice(11), (kernels::PageChoice{.pages = 2, .dense_layers = 3}));
  EXPECT_EQ(choice(12), (kernels::PageChoice{.pages = 3, .dense_layers = 3}));
}

TEST(QuestPolicy, CountsWhatIsNotRead) {
  const auto policy = MakePolicy(kQuest, 4, 16);
  EXPECT_EQ(policy->dropped_tokens(40, 90), 0);
  EXPECT_EQ(policy->unread_tokens(40, 40), 0) << "a prompt reads all";
  EXPECT_EQ(policy->unread_tokens(40, 41), 32) << "of eleven pages";
  EXPECT_EQ(policy->unread_tokens(40, 44), 32);
  EXPECT_EQ(policy->unread_tokens(40, 45), 36);
  EXPECT_EQ(policy->unread_tokens(5, 12), 0);
  EXPECT_EQ(policy->unread_tokens(5, 13), 4);
}

TEST(QuestPolicy, PromptsAreExactAndAnswersChoose) {
  Engine engine({.max_batch_tokens = 7});
  const RequestId id = engine.Submit(Choosing(Prompt(1, 30), 20));
  while (!engine.scheduler().idle()) {
    for (const Sequence& sequence : engine.Begin().sequences) {
      const std::int64_t first = sequence.first_position;
      EXPECT_TRUE(first >= 30 || first + std::ssize(sequence.tokens) <= 30);
      EXPECT_EQ(sequence.choice.is_made(), first >= 30) << first;
    }
    engine.End();
  }
  ExpectWhole(engine[id]);
  EXPECT_NE(engine[id].tokens, Expected(Prompt(1, 30), 20).tokens);
  EXPECT_EQ(engine[id].usage.kept_tokens, 49);
  EXPECT_EQ(engine[id].usage.dropped_tokens, 0);
  EXPECT_EQ(engine[id].usage.unread_tokens, 40) << "ten of thirteen pages";
  EXPECT_EQ(engine.HeldPages(), 0);
}

// Planted, this would be an answer of other tokens.
TEST(QuestPolicy, NobodyFindsWhatAnAnswerComputed) {
  Engine engine({});
  const RequestId first = engine.Submit(Choosing(Prompt(1, 40), 30));
  engine.Run();
  const std::vector<TokenId> all = Join(Prompt(1, 40), engine[first].tokens);
  EXPECT_EQ(engine.Cached(all), 40) << "the prompt is exact, and everybody's";
  const RequestId exact = engine.Submit(all, 8);
  engine.Run();
  EXPECT_EQ(engine[exact].cached_tokens, 40);
  EXPECT_EQ(engine[exact].tokens, Expected(all, 8).tokens);
  const RequestId second = engine.Submit(Choosing(Prompt(1, 40), 30));
  engine.Run();
  EXPECT_EQ(engine[second].cached_tokens, 39);
  ExpectWhole(engine[first]);
  ExpectWhole(engine[second]);
}

TEST(QuestPolicy, SharesPromptsWithOthersThatRun) {
  Engine engine({.max_batch_tokens = 24, .max_running = 6});
  std::vector<RequestId> choosing;
  std::vector<RequestId> exact;
  for (int i = 0; i < 3; ++i) {
    choosing.push_back(engine.Submit(Choosing(Join(Prompt(1, 24), Prompt(2 + i, 5)), 20)));
    exact.push_back(engine.Submit(Join(Prompt(1, 24), Prompt(2 + i, 5)), 20));
  }
  engine.Run();
  for (const RequestId id : choosing) ExpectWhole(engine[id]);
  for (const RequestId id : exact)
    EXPECT_EQ(engine[id].tokens, Expected(engine[id].ask.prompt, 20).tokens);
  EXPECT_LE(engine.model().computed(), 24 + 3 * 5 + 6 * 20) << "prompts once";
}

TEST(QuestPolicy, PreemptedItComesBackAndGoesOnAlike) {
  Engine engine({.pages = 15, .headroom_tokens = 1});
  std::vector<RequestId> ids;
  for (int i = 1; i < 4; ++i)
    ids.push_back(engine.Submit(Choosing(Prompt(i, static_cast<std::size_t>(6 * i)), 30)));
  engine.Run();
  std::int64_t preemptions = 0;
  for (const RequestId id : ids) {
    ExpectWhole(engine[id]);
    preemptions += engine[id].usage.preemptions;
  }
  EXPECT_GT(preemptions, 0);
}

// It keeps all: as without a policy an answer ends with the pool or the context.
TEST(QuestPolicy, IsBoundedByContextAndPool) {
  for (const std::int32_t pages : {10, 100}) {
    Engine engine({.pages = pages, .context_length = 64});
    const std::int64_t most = std::min(pages * 4 - 20 + 1, 64 - 20);
    const RequestId id = engine.Submit(Choosing(Prompt(1, 20), 5000));
    const RequestId exact = engine.Submit(Prompt(2, 20), 5000);
    engine.Run();
    EXPECT_EQ(engine[id].usage.output_tokens, most);
    EXPECT_EQ(engine[id].usage.limit, engine[exact].usage.limit);
    EXPECT_EQ(engine[id].tokens, Alone(engine[id].ask, most));
  }
}

TEST(QuestPolicy, GivesUpAllThatItHas) {
  for (int steps = 1; steps < 8; ++steps) {
    Engine engine({});
    const RequestId id = engine.Submit(Choosing(Prompt(1, 40), 100));
    const RequestId other = engine.Submit(Choosing(Prompt(2, 20), 100));
    for (int i = 0; i < steps; ++i) engine.Step();
    engine.Begin();
    engine.Cancel(id);
    engine.End();
    engine.FailStep();
    EXPECT_EQ(engine[other].reason, FinishReason::kFailed);
    EXPECT_EQ(engine.HeldPages(), 0) << steps;
  }
}

TEST(QuestPolicy, WhatCannotBeIsRefused) {
  const auto check = [](std::int64_t budget, std::int32_t dense_layers = 2) {
    return CheckPolicy(
               {.context_length = 100}, {.page_size = 4, .pages = 10},
               {.type = KvPolicy::Type::kQuest, .budget = budget, .dense_layers = dense_layers})
        .code();
  };
  EXPECT_EQ(check(0), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(check(3), absl::StatusCode::kInvalidArgument) << "under a page";
  EXPECT_EQ(check(4), absl::StatusCode::kOk);
  EXPECT_EQ(check(100), absl::StatusCode::kOk);
  EXPECT_EQ(check(101), absl::StatusCode::kOutOfRange) << "over the context";
  EXPECT_EQ(check(12, -1), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(check(12, 0), absl::StatusCode::kOk);
  EXPECT_EQ(check(12, 1024), absl::StatusCode::kOk);
  EXPECT_EQ(check(12, 1025), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace banyan::scheduler
