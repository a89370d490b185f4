// When pages run out: who goes, what it keeps, and how it comes back.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scheduler/fixture.h"

namespace banyan::scheduler {
namespace {

// Two requests that both fit at first and not to their end: ten pages of four slots.
constexpr EngineOptions kSmall{
    .page_size = 4, .pages = 10, .max_batch_tokens = 32, .max_running = 4, .headroom_tokens = 1};

TEST(Preemption, TheYoungestGoesAndComesBackWithItsTokens) {
  Engine engine(kSmall);
  const RequestId old = engine.Submit(Prompt(1, 8), 24);
  const RequestId young = engine.Submit(Prompt(2, 8), 24);
  engine.Run();
  EXPECT_EQ(engine[old].observed.preempted, 0);
  EXPECT_GE(engine[young].observed.preempted, 1);
  EXPECT_EQ(engine[young].usage.preemptions, engine[young].observed.preempted);
  EXPECT_EQ(engine[old].tokens, Expected(Prompt(1, 8), 24).tokens);
  EXPECT_EQ(engine[young].tokens, Expected(Prompt(2, 8), 24).tokens);
  EXPECT_EQ(engine[young].observed.admitted, 1) << "it is told once";
}

TEST(Preemption, TheLowestPriorityGoesFirst) {
  Engine engine(kSmall);
  Ask low;
  low.prompt = Prompt(1, 8);
  low.max_tokens = 24;
  Ask high = low;
  high.prompt = Prompt(2, 8);
  high.priority = 3;
  const RequestId first = engine.Submit(std::move(low));
  const RequestId urgent = engine.Submit(std::move(high));
  engine.Run();
  EXPECT_GE(engine[first].observed.preempted, 1);
  EXPECT_EQ(engine[urgent].observed.preempted, 0);
  EXPECT_EQ(engine[first].tokens, Expected(Prompt(1, 8), 24).tokens);
}

// What is computed again is counted, and is neither a hit nor a part of the prompt.
TEST(Preemption, RecomputingIsNoHitAndCountsForItself) {
  Engine engine(kSmall);
  const RequestId old = engine.Submit(Prompt(1, 8), 29);  // nine pages in the end
  const RequestId young = engine.Submit(Prompt(2, 8), 24);
  engine.Run();
  const Stats stats = engine.scheduler().stats();
  EXPECT_EQ(engine[young].usage.cached_tokens, 0);
  EXPECT_EQ(engine[young].observed.cached_tokens, 0);
  EXPECT_EQ(stats.computed_prompt_tokens, 16);
  EXPECT_GT(stats.recomputed_tokens, 0) << "the old one needed nearly all pages";
  EXPECT_EQ(engine.model().computed(), 16 + 28 + 23 + stats.recomputed_tokens);
  EXPECT_EQ(engine[old].tokens, Expected(Prompt(1, 8), 29).tokens);
}

TEST(Preemption, WhatStaysInTheTreeIsNotComputedAgain) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 32, .headroom_tokens = 1});
  engine.Submit(Prompt(1, 8), 11);
  const RequestId young = engine.Submit(Prompt(2, 12), 14);
  while (engine[young].observed.preempted == 0) ASSERT_TRUE(engine.Step());
  const std::int64_t cached = engine.Cached(Join(Prompt(2, 12), engine[young].tokens));
  EXPECT_GE(cached, 12);
  engine.Run();
  EXPECT_EQ(engine[young].tokens, Expected(Prompt(2, 12), 14).tokens);
}

TEST(Preemption, NobodyIsAdmittedInItsStep) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 32, .headroom_tokens = 1});
  engine.Submit(Prompt(1, 8), 24);
  const RequestId young = engine.Submit(Prompt(2, 8), 24);
  while (engine[young].observed.preempted == 0) {
    const std::int64_t running = engine.scheduler().stats().running;
    engine.Begin();
    if (engine[young].observed.preempted > 0) {
      EXPECT_EQ(engine.scheduler().stats().running, running - 1);
    }
    engine.End();
  }
  engine.Run();
}

// Or they would wait for what nobody computes.
TEST(Preemption, AProducerLetsItsFollowersGo) {
  Engine engine({.page_size = 4, .pages = 15, .max_batch_tokens = 6, .headroom_tokens = 1});
  engine.Submit(Prompt(1, 4), 20);
  const RequestId producer = engine.Submit(Prompt(2, 48), 2);
  const RequestId follower = engine.Submit(Prompt(2, 48), 2);
  engine.Step();
  ASSERT_EQ(engine.scheduler().stats().following, 1);
  while (engine[producer].observed.preempted == 0) ASSERT_TRUE(engine.Step());
  EXPECT_EQ(engine.scheduler().stats().following, 0);
  EXPECT_EQ(engine.scheduler().Inspect(follower, Tick(0))->state, RequestState::kWaiting);
  engine.Run();
  EXPECT_EQ(engine[producer].tokens, Expected(Prompt(2, 48), 2).tokens);
  EXPECT_EQ(engine[follower].tokens, Expected(Prompt(2, 48), 2).tokens);
}

// The headroom keeps out what could not run for long beside the others.
TEST(Preemption, HeadroomKeepsANewcomerWaitingInsteadOfPreemptedAtOnce) {
  Engine engine({.page_size = 4, .pages = 10, .max_batch_tokens = 32, .headroom_tokens = 64});
  const RequestId old = engine.Submit(Prompt(1, 8), 24);
  const RequestId young = engine.Submit(Prompt(2, 8), 24);
  engine.Step();
  EXPECT_TRUE(engine[old].admitted);
  EXPECT_FALSE(engine[young].admitted);
  engine.Run();
  EXPECT_EQ(engine.scheduler().stats().preemptions, 0);
}

TEST(Preemption, AnAnswerThatOutgrowsThePoolEndsWithItsLength) {
  Engine engine(kSmall);
  const RequestId first = engine.Submit(Prompt(1, 8), 1000);
  const RequestId second = engine.Submit(Prompt(2, 8), 1000);
  engine.Run();
  for (const RequestId id : {first, second}) {
    EXPECT_EQ(engine[id].reason, FinishReason::kLength);
    EXPECT_EQ(engine[id].usage.limit, LengthLimit::kPool);
    EXPECT_EQ(engine[id].tokens.size(), 33U);
  }
  EXPECT_EQ(engine[first].tokens, Expected(Prompt(1, 8), 33).tokens);
  EXPECT_EQ(engine[second].tokens, Expected(Prompt(2, 8), 33).tokens);
}

TEST(Preemption, APreemptedRequestCanBeCancelledAndStopped) {
  for (const bool stops : {false, true}) {
    Engine engine(kSmall);
    engine.Submit(Prompt(1, 8), 24);
    const RequestId young = engine.Submit(Prompt(2, 8), 24);
    while (engine[young].observed.preempted == 0) ASSERT_TRUE(engine.Step());
    const std::int64_t before = engine[young].tokens.size();
    stops ? engine.StopString(young, 2) : engine.Cancel(young);
    EXPECT_EQ(engine[young].reason, stops ? FinishReason::kStop : FinishReason::kCancelled);
    EXPECT_EQ(engine[young].usage.output_tokens, stops ? 2 : before);
    engine.Run();
    EXPECT_EQ(engine.HeldPages(), 0);
    EXPECT_EQ(engine.scheduler().TakeLeft(), 2U) << "it left the queue once";
  }
}

// Scores that were sent are not sent again, and none is missing.
TEST(Preemption, OfAScoredPromptSendsEachScoreOnce) {
  Engine engine(
      {.page_size = 4, .pages = 12, .max_batch_tokens = 7, .max_running = 3, .headroom_tokens = 1});
  engine.Submit(Prompt(1, 8), 30);
  Ask ask;
  ask.prompt = Prompt(2, 20);
  ask.max_tokens = 12;
  ask.score_prompt = true;
  ask.top_logprobs = 2;
  const RequestId scored = engine.Submit(std::move(ask));
  engine.Run();
  EXPECT_GE(engine[scored].observed.preempted, 1);
  ExpectSame(engine[scored].prompt_scores, ExpectedScores(Prompt(2, 20), 1, 2));
  EXPECT_EQ(engine[scored].tokens, Expected(Prompt(2, 20), 12).tokens);
}

// A pulse of more than fits passes, and what comes after is as quick as what came before.
TEST(Preemption, AfterAPulseEverythingIsAsBefore) {
  Engine engine({.page_size = 4,
                 .pages = 40,
                 .max_batch_tokens = 32,
                 .max_running = 8,
                 .headroom_tokens = 8});
  const auto steps_of_a_round = [&](int which) {
    const std::int64_t before = engine.scheduler().stats().steps;
    for (int i = 0; i < 4; ++i) engine.Submit(Prompt(which + i, 12), 20);
    engine.Run();
    return engine.scheduler().stats().steps - before;
  };
  const std::int64_t before = steps_of_a_round(10);
  for (int i = 0; i < 60; ++i) engine.Submit(Prompt(100 + i, 12), 20);
  engine.Run();
  EXPECT_GT(engine.scheduler().stats().preemptions, 0);
  const std::int64_t preemptions = engine.scheduler().stats().preemptions;
  EXPECT_LE(steps_of_a_round(20), before);
  EXPECT_EQ(engine.scheduler().stats().preemptions, preemptions);
}

}  // namespace
}  // namespace banyan::scheduler
