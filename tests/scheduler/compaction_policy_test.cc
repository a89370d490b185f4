// Requests of which each head keeps slots of its own (policies/h2o.h, scissorhands.h, snapkv.h), in
// pages of four tokens.
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

using Type = KvPolicy::Type;

constexpr Type kTypes[] = {Type::kH2o, Type::kScissorhands, Type::kSnapKv};

KvPolicy Budget(Type type, std::int64_t budget = 12, std::int32_t observe = 5) {
  return {.type = type, .budget = budget, .observe = observe};
}

// Whenever there are budget + 4 slots, 12 survive: of 40 + 49 tokens computed after 40, 44, .. 88.
TEST(CompactionPolicy, CountsWhatIsKept) {
  const auto dropped = [](Type type, std::int64_t prompt, std::int64_t tokens) {
    return MakePolicy(Budget(type), 4, 16)->dropped_tokens(prompt, tokens);
  };
  EXPECT_EQ(dropped(Type::kH2o, 40, 40), 0);
  EXPECT_EQ(dropped(Type::kH2o, 40, 41), 28);
  EXPECT_EQ(dropped(Type::kH2o, 40, 44), 28);
  EXPECT_EQ(dropped(Type::kH2o, 40, 45), 32);
  EXPECT_EQ(dropped(Type::kH2o, 10, 16), 0);
  EXPECT_EQ(dropped(Type::kH2o, 10, 17), 4);
  EXPECT_EQ(dropped(Type::kH2o, 10, 20), 4);
  EXPECT_EQ(dropped(Type::kH2o, 10, 21), 8);
  EXPECT_EQ(dropped(Type::kSnapKv, 40, 40), 0);
  EXPECT_EQ(dropped(Type::kSnapKv, 40, 41), 28);
  EXPECT_EQ(dropped(Type::kSnapKv, 40, 90), 28);
  EXPECT_EQ(dropped(Type::kSnapKv, 12, 90), 0);
  EXPECT_EQ(dropped(Type::kSnapKv, 13, 90), 1);
}

TEST(CompactionPolicy, AnswersAreThoseOfWhatIsKept) {
  for (const Type type : kTypes) {
    for (std::size_t prompt : {1, 3, 4, 11, 12, 13, 15, 16, 17, 20, 40, 61}) {
      SCOPED_TRACE(prompt);
      Engine engine({.max_batch_tokens = 5 + static_cast<std::int32_t>(prompt % 8)});
      const RequestId id = engine.Submit(AskUnder(Prompt(1, prompt), 50, Budget(type)));
      engine.Run();
      ExpectWhole(engine[id]);
      const Usage& usage = engine[id].usage;
      EXPECT_EQ(usage.kept_tokens + usage.dropped_tokens, static_cast<std::int64_t>(prompt) + 49);
      if (type != Type::kSnapKv) {
        EXPECT_LE(usage.kept_tokens, 16);
        EXPECT_GE(usage.kept_tokens, 12);
      }
      EXPECT_EQ(engine.HeldPages(), 0);
      if (HasFailure()) return;
    }
  }
}

TEST(CompactionPolicy, PagesDoNotGrowWithTheAnswer) {
  for (const Type type : {Type::kH2o, Type::kScissorhands}) {
    Engine engine({});
    engine.Submit(AskUnder(Prompt(1, 40), 300, Budget(type)));
    std::vector<std::int64_t> held;
    while (engine.Step()) held.push_back(engine.HeldPages());
    ASSERT_GT(held.size(), 290);
    EXPECT_LE(*std::max_element(held.begin() + 10, held.end()), 4) << "twelve slots, and a page";
  }
}

TEST(CompactionPolicy, APromptOfWhichTheBudgetHoldsAllIsAsWithout) {
  for (const Type type : kTypes) {
    Engine engine({});
    const RequestId id = engine.Submit(AskUnder(Prompt(1, 7), 6, Budget(type)));
    engine.Run();
    EXPECT_EQ(engine[id].tokens, Expected(Prompt(1, 7), 6).tokens);
    EXPECT_EQ(engine[id].usage.dropped_tokens, 0);
  }
}

TEST(CompactionPolicy, AnswersAreTheSameCachedOrNot) {
  for (const Type type : kTypes) {
    Engine engine({});
    const RequestId first = engine.Submit(AskUnder(Prompt(1, 40), 30, Budget(type)));
    engine.Run();
    EXPECT_EQ(engine.Cached(Prompt(1, 40)), 40) << "the prompt is exact, and everybody's";
    EXPECT_EQ(engine.Cached(Join(Prompt(1, 40), engine[first].tokens)), 40) << "the answer is not";
    const RequestId second = engine.Submit(AskUnder(Prompt(1, 40), 30, Budget(type)));
    const RequestId exact = engine.Submit(Prompt(1, 40), 4);
    engine.Run();
    EXPECT_EQ(engine[second].cached_tokens, 35) << "its last five are observed";
    EXPECT_EQ(engine[exact].cached_tokens, 39);
    ExpectWhole(engine[first]);
    ExpectWhole(engine[second]);
    EXPECT_EQ(engine[exact].tokens, Expected(Prompt(1, 40), 4).tokens);
  }
}

TEST(CompactionPolicy, ManyAtOnceDoNotMeet) {
  for (const Type type : kTypes) {
    Engine engine({.pages = 120, .max_batch_tokens = 24});
    std::vector<RequestId> ids;
    for (int i = 0; i < 8; ++i)
      ids.push_back(engine.Submit(
          AskUnder(Join(Prompt(1, 18), Prompt(2 + i % 3, 20)), 30 + i, Budget(type, 8 + i))));
    engine.Run();
    for (const RequestId id : ids) ExpectWhole(engine[id]);
  }
}

TEST(CompactionPolicy, PreemptedItComesBackAndGoesOnAlike) {
  for (const Type type : kTypes) {
    Engine engine({.pages = 15, .headroom_tokens = 1});
    const RequestId first = engine.Submit(AskUnder(Prompt(1, 6), 40, Budget(type)));
    const RequestId second = engine.Submit(AskUnder(Prompt(2, 6), 40, Budget(type)));
    const RequestId third = engine.Submit(AskUnder(Prompt(3, 30), 12, Budget(type)));
    engine.Run();
    ExpectWhole(engine[first]);
    ExpectWhole(engine[second]);
    ExpectWhole(engine[third]);
  }
}

// At the bound; a page less is refused.
TEST(CompactionPolicy, APoolThatIsJustEnoughIsEnough) {
  for (const Type type : kTypes) {
    for (const std::int64_t prompt : {5, 16, 23, 40}) {
      const KvPolicy policy = Budget(type);
      Options options{.max_batch_tokens = 16, .context_length = 200};
      std::int32_t pages = 1;
      while (!CheckFits(options, {.page_size = 4, .pages = pages}, prompt, 5, policy).ok()) ++pages;
      Engine engine({.pages = pages, .context_length = 200});
      const RequestId id =
          engine.Submit(AskUnder(Prompt(1, static_cast<std::size_t>(prompt)), 5, policy));
      engine.Run();
      ASSERT_FALSE(engine[id].tokens.empty()) << prompt << " " << pages;
      EXPECT_EQ(engine[id].reason, FinishReason::kLength);
    }
  }
}

TEST(CompactionPolicy, GivesUpAllThatItHas) {
  for (const Type type : kTypes) {
    for (int steps = 1; steps < 12; ++steps) {
      Engine engine({});
      const RequestId id = engine.Submit(AskUnder(Prompt(1, 40), 100, Budget(type)));
      for (int i = 0; i < steps; ++i) engine.Step();
      engine.Begin();
      engine.Cancel(id);
      engine.End();
      EXPECT_EQ(engine.HeldPages(), 0) << steps;
    }
  }
}

TEST(CompactionPolicy, AFailedStepLeavesNothing) {
  for (const Type type : kTypes) {
    for (int steps = 1; steps < 12; ++steps) {
      Engine engine({});
      const RequestId id = engine.Submit(AskUnder(Prompt(1, 40), 100, Budget(type)));
      for (int i = 0; i < steps; ++i) engine.Step();
      engine.FailStep();
      EXPECT_EQ(engine[id].reason, FinishReason::kFailed);
      EXPECT_EQ(engine.HeldPages(), 0) << steps;
    }
  }
}

TEST(CompactionPolicy, AFlushTakesItsExactPagesFromOthersNotFromItself) {
  for (const Type type : kTypes) {
    Engine engine({});
    const RequestId id = engine.Submit(AskUnder(Prompt(1, 40), 20, Budget(type)));
    engine.Step();
    engine.cache().Flush(engine.cache().OpenNamespace(NamespaceName("", "")));
    engine.Run();
    ExpectWhole(engine[id]);
  }
}

TEST(CompactionPolicy, WhatCannotBeIsRefused) {
  const Options options{.max_batch_tokens = 16, .context_length = 100};
  const auto check = [&](const KvPolicy& policy, std::int32_t pages = 1000) {
    return CheckPolicy(options, {.page_size = 4, .pages = pages}, policy).ok();
  };
  for (const Type type : kTypes) {
    EXPECT_FALSE(check(Budget(type, 0)));
    EXPECT_TRUE(check(Budget(type, 1)));
    EXPECT_TRUE(check(Budget(type, 100)));
    EXPECT_FALSE(check(Budget(type, 101))) << "over the context";
    EXPECT_FALSE(check(Budget(type, 12, 0)));
    EXPECT_TRUE(check(Budget(type, 12, 1)));
    EXPECT_TRUE(check(Budget(type, 12, 1024)));
    EXPECT_FALSE(check(Budget(type, 12, 1025)));
    KvPolicy policy = Budget(type);
    policy.recent = 12;
    EXPECT_TRUE(check(policy));
    policy.recent = 13;
    EXPECT_FALSE(check(policy)) << "over the budget";
    policy = Budget(type);
    policy.pooled = 8;
    EXPECT_FALSE(check(policy)) << "has no middle";
    policy = Budget(type);
    policy.history = 65;
    EXPECT_FALSE(check(policy));
  }
  // Sixteen slots twice, where what survives is copied.
  EXPECT_TRUE(check(Budget(Type::kH2o), 8));
  EXPECT_FALSE(check(Budget(Type::kH2o), 7));
}

}  // namespace
}  // namespace banyan::scheduler
