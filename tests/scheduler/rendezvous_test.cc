// Requests that need the same uncached prefix compute it once.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scheduler/fixture.h"

namespace banyan::scheduler {
namespace {

constexpr EngineOptions kAmple{
    .page_size = 4, .pages = 512, .max_batch_tokens = 16, .max_running = 8};

std::int64_t ComputedPrompt(Engine& engine) {
  return engine.scheduler().stats().computed_prompt_tokens;
}

RequestState StateOf(Engine& engine, RequestId id) {
  const auto status = engine.scheduler().Inspect(id, Tick(0));
  return status ? status->state : RequestState::kFinished;
}

TEST(Rendezvous, EqualPromptsComputeTheLastTokenEachAndTheRestOnce) {
  for (const std::size_t length : {1U, 2U, 3U, 4U, 5U, 8U, 9U, 15U, 16U, 17U, 40U}) {
    Engine engine(kAmple);
    std::vector<RequestId> ids;
    for (int i = 0; i < 6; ++i) ids.push_back(engine.Submit(Prompt(1, length), 5));
    engine.Run();
    EXPECT_EQ(ComputedPrompt(engine), static_cast<std::int64_t>(length) + 5) << length;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(engine[ids[i]].tokens, Expected(Prompt(1, length), 5).tokens);
      EXPECT_EQ(engine[ids[i]].usage.cached_tokens, i == 0 ? 0 : static_cast<int>(length) - 1);
    }
  }
}

TEST(Rendezvous, AFollowerHoldsNothing) {
  Engine engine(kAmple);
  engine.Submit(Prompt(1, 40), 4);
  engine.Submit(Prompt(1, 40), 4);
  engine.Step();
  EXPECT_EQ(engine.scheduler().stats().following, 1);
  EXPECT_EQ(engine.scheduler().stats().waiting, 1);
  EXPECT_EQ(engine.scheduler().stats().running, 1);
  EXPECT_EQ(engine.HeldPages(), 4) << "of the producer";
}

// Each is served where it diverges, and whoever shares its suffix follows it from there.
TEST(Rendezvous, DivergingPromptsFormATree) {
  const std::vector<TokenId> trunk = Prompt(1, 30);
  const std::vector<TokenId> left = Join(trunk, Prompt(2, 21));
  const std::vector<TokenId> right = Join(trunk, Prompt(3, 22));
  Engine engine(kAmple);
  std::vector<std::vector<TokenId>> prompts = {Join(trunk, Prompt(9, 5)), Join(left, Prompt(4, 3)),
                                               Join(left, Prompt(5, 9)),  Join(right, Prompt(6, 2)),
                                               Join(right, Prompt(7, 7)), Join(left, Prompt(4, 3))};
  std::vector<RequestId> ids;
  for (const auto& prompt : prompts) ids.push_back(engine.Submit(prompt, 3));
  engine.Run();
  EXPECT_EQ(ComputedPrompt(engine), 30 + 5 + 21 + 3 + 9 + 22 + 2 + 7 + 1);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(engine[ids[i]].tokens, Expected(prompts[i], 3).tokens);
  }
}

// For every place at which two prompts can part, within and between pages and chunks.
TEST(Rendezvous, IsExactAtEveryOffset) {
  for (std::size_t shared = 0; shared <= 36; ++shared) {
    Engine engine(kAmple);
    const std::vector<TokenId> a = Join(Prompt(1, shared), Prompt(2, 40 - shared));
    const std::vector<TokenId> b = Join(Prompt(1, shared), Prompt(3, 38 - shared));
    const RequestId first = engine.Submit(a, 3);
    const RequestId second = engine.Submit(b, 3);
    engine.Run();
    EXPECT_EQ(ComputedPrompt(engine), static_cast<std::int64_t>(78 - shared));
    EXPECT_EQ(engine[second].usage.cached_tokens, static_cast<std::int64_t>(shared));
    EXPECT_EQ(engine[first].tokens, Expected(a, 3).tokens);
    EXPECT_EQ(engine[second].tokens, Expected(b, 3).tokens);
  }
}

// Its suffix is begun while the producer still computes its own.
TEST(Rendezvous, AFollowerStartsAsSoonAsItsPrefixIsThere) {
  Engine engine(kAmple);
  const RequestId producer = engine.Submit(Prompt(1, 200), 4);
  const RequestId follower = engine.Submit(Join(Prompt(1, 20), Prompt(2, 5)), 4);
  engine.Step();
  EXPECT_EQ(StateOf(engine, follower), RequestState::kFollowing);
  engine.Step();
  engine.Step();
  EXPECT_EQ(StateOf(engine, producer), RequestState::kPrefill);
  EXPECT_TRUE(engine[follower].admitted);
  EXPECT_EQ(engine[follower].cached_tokens, 20);
}

enum class Stops { kCancelled, kCancelledInFlight, kStopString, kFailed, kFlushed };

class HandOver : public testing::TestWithParam<Stops> {};

// Whatever stops the producer, the followers go on where it was.
TEST_P(HandOver, HappensInTheSameCall) {
  Engine engine(kAmple);
  Ask ask;
  ask.prompt = Prompt(1, 60);
  const RequestId producer = engine.Submit(std::move(ask));
  const RequestId second = engine.Submit(Prompt(1, 60), 4);
  const RequestId third = engine.Submit(Prompt(1, 60), 4);
  engine.Step();
  ASSERT_EQ(StateOf(engine, second), RequestState::kFollowing);
  std::int64_t kept = 16;
  switch (GetParam()) {
    case Stops::kCancelled:
      engine.Cancel(producer);
      break;
    case Stops::kStopString:
      engine.StopString(producer, 0);
      break;
    case Stops::kCancelledInFlight:
      engine.Begin();
      engine.Cancel(producer);
      engine.End();
      kept = 32;
      break;
    case Stops::kFailed:
      engine.FailStep();
      break;
    case Stops::kFlushed:
      engine.cache().Flush(engine.cache().OpenNamespace(NamespaceName("", "")));
      engine.Step();
      kept = 0;
      break;
  }
  EXPECT_NE(StateOf(engine, second), RequestState::kFollowing);
  do {
    engine.Step();
  } while (!engine[second].admitted);  // a flushed producer still runs, and has the budget
  EXPECT_EQ(engine[second].cached_tokens, kept);
  EXPECT_EQ(StateOf(engine, third), RequestState::kFollowing) << "of the second";
  engine.Run();
  EXPECT_EQ(engine[second].tokens, Expected(Prompt(1, 60), 4).tokens);
  EXPECT_EQ(engine[third].tokens, Expected(Prompt(1, 60), 4).tokens);
  EXPECT_EQ(engine[third].usage.cached_tokens, 59);
}

INSTANTIATE_TEST_SUITE_P(Stops, HandOver,
                         testing::Values(Stops::kCancelled, Stops::kCancelledInFlight,
                                         Stops::kStopString, Stops::kFailed, Stops::kFlushed));

TEST(Rendezvous, ACancelledFollowerIsForgotten) {
  Engine engine(kAmple);
  engine.Submit(Prompt(1, 60), 4);
  const RequestId follower = engine.Submit(Prompt(1, 60), 4);
  engine.Step();
  engine.Cancel(follower);
  EXPECT_EQ(engine[follower].reason, FinishReason::kCancelled);
  EXPECT_EQ(engine.scheduler().stats().following, 0);
  engine.Run();
}

TEST(Rendezvous, AProducerHasThePriorityOfItsMostUrgentFollower) {
  Engine engine(kAmple);
  const RequestId other = engine.Submit(Prompt(2, 200), 1);
  const RequestId producer = engine.Submit(Prompt(1, 190), 1);
  engine.Step();
  EXPECT_EQ(engine.chunks()[0].request, other);
  Ask ask;
  ask.prompt = Prompt(1, 195);
  ask.priority = 7;
  const RequestId urgent = engine.Submit(std::move(ask));
  engine.Step();
  ASSERT_EQ(StateOf(engine, urgent), RequestState::kFollowing);
  EXPECT_EQ(engine.scheduler().Inspect(producer, Tick(0))->aged_priority, 7);
  EXPECT_EQ(engine.chunks()[0].request, producer);
  engine.Cancel(urgent);
  EXPECT_EQ(engine.scheduler().Inspect(producer, Tick(0))->aged_priority, 0);
  engine.Step();
  EXPECT_EQ(engine.chunks()[0].request, other);
  engine.Run();
}

// Prompts that are scored follow nobody: so two of them compute the same tokens at once.
TEST(Rendezvous, WhoBringsMostIsFollowed) {
  Engine engine(kAmple);
  Ask ask;
  ask.score_prompt = true;
  ask.prompt = Prompt(1, 80);
  const RequestId most = engine.Submit(ask);
  ask.prompt = Join(Prompt(1, 40), Prompt(2, 20));
  engine.Submit(ask);
  engine.Step();
  ASSERT_EQ(engine.scheduler().stats().running, 2);
  const RequestId follower = engine.Submit(Prompt(1, 80), 1);
  engine.Step();
  EXPECT_EQ(engine.scheduler().Inspect(follower, Tick(0))->producer, most);
  engine.Run();
}

TEST(Rendezvous, NobodyFollowsOneThatPublishesNoMore) {
  Engine engine(kAmple);
  engine.Submit(Prompt(1, 60), 1);
  engine.Step();
  engine.cache().Flush(engine.cache().OpenNamespace(NamespaceName("", "")));
  engine.Submit(Prompt(1, 60), 1);
  engine.Begin();
  EXPECT_EQ(engine.scheduler().stats().following, 0);
  engine.End();
  engine.Run();
}

TEST(Rendezvous, NobodyFollowsAcrossSaltsOrTenants) {
  Engine engine(kAmple);
  for (const char* salt : {"", "a", "b"}) {
    for (const char* tenant : {"", "a", "b"}) {
      Ask ask;
      ask.prompt = Prompt(1, 9);
      ask.cache_salt = salt;
      ask.tenant = tenant;
      engine.Submit(std::move(ask));
    }
  }
  engine.Step();
  EXPECT_EQ(engine.scheduler().stats().following, 0);
  engine.Run();
  EXPECT_EQ(ComputedPrompt(engine), 9 * 9);
}

TEST(Rendezvous, NobodyFollowsWhereNothingIsShared) {
  Engine engine({.page_size = 4,
                 .pages = 512,
                 .max_batch_tokens = 16,
                 .max_running = 8,
                 .prefix_caching = PrefixCaching::kOff});
  for (int i = 0; i < 3; ++i) engine.Submit(Prompt(1, 20), 3);
  engine.Step();
  EXPECT_EQ(engine.scheduler().stats().following, 0);
  engine.Run();
  EXPECT_EQ(ComputedPrompt(engine), 60);
  for (const auto& [id, answer] : engine.answers()) {
    EXPECT_EQ(answer.usage.cached_tokens, 0);
    EXPECT_EQ(answer.tokens, Expected(Prompt(1, 20), 3).tokens);
  }
}

}  // namespace
}  // namespace banyan::scheduler
