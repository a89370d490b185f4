// A cancel is legal in every state.
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/fixture.h"

namespace banyan::scheduler {
namespace {

void ExpectClean(Engine& engine) {
  EXPECT_TRUE(engine.scheduler().idle());
  EXPECT_EQ(engine.scheduler().stats().reserved_pages, 0);
  EXPECT_EQ(engine.HeldPages(), 0);
}

TEST(Cancel, OfOneThatWaitsTakesEffectAtOnce) {
  Engine engine({});
  const RequestId a = engine.Submit(Prompt(1, 10), 4);
  engine.Cancel(a);
  EXPECT_EQ(engine[a].reason, FinishReason::kCancelled);
  EXPECT_FALSE(engine[a].admitted);
  EXPECT_EQ(engine[a].usage.prompt_tokens, 10);
  EXPECT_EQ(engine[a].usage.cached_tokens, 0);
  EXPECT_EQ(engine[a].usage.output_tokens, 0);
  EXPECT_FALSE(engine.Step());
  ExpectClean(engine);
}

TEST(Cancel, InPrefillBetweenStepsTakesEffectAtOnce) {
  Engine engine({.page_size = 4, .max_batch_tokens = 6});
  const RequestId a = engine.Submit(Prompt(1, 20), 4);
  engine.Step();
  engine.Cancel(a);
  EXPECT_EQ(engine[a].reason, FinishReason::kCancelled);
  ExpectClean(engine);
  EXPECT_EQ(engine.Cached(Prompt(1, 20)), 6) << "what was computed is kept, to the token";
}

TEST(Cancel, InDecodeBetweenStepsTakesEffectAtOnce) {
  Engine engine({.page_size = 4});
  const RequestId a = engine.Submit(Prompt(1, 6), 20);
  for (int i = 0; i < 5; ++i) engine.Step();
  engine.Cancel(a);
  EXPECT_EQ(engine[a].reason, FinishReason::kCancelled);
  EXPECT_EQ(engine[a].usage.output_tokens, 5);
  ExpectClean(engine);
  EXPECT_EQ(engine.Cached(Join(Prompt(1, 6), engine[a].tokens)), 10);
}

TEST(Cancel, WithAStepInFlightWaitsForItAndDropsItsToken) {
  Engine engine({.page_size = 4});
  const RequestId a = engine.Submit(Prompt(1, 6), 20);
  engine.Step();
  engine.Step();
  engine.Begin();
  const std::int64_t held = engine.HeldPages();
  engine.Cancel(a);
  EXPECT_FALSE(engine[a].finished());
  EXPECT_EQ(engine.scheduler().stats().running, 1);
  EXPECT_EQ(engine.HeldPages(), held) << "the step may still read and write them";
  engine.End();
  EXPECT_EQ(engine[a].reason, FinishReason::kCancelled);
  EXPECT_EQ(engine[a].tokens.size(), 2u);
  EXPECT_EQ(engine[a].usage.output_tokens, 2);
  ExpectClean(engine);
  EXPECT_EQ(engine.Cached(Join(Prompt(1, 6), engine[a].tokens)), 8) << "its KV is kept";
}

TEST(Cancel, InTheFirstStepInFlightDropsTheFirstToken) {
  Engine engine({.page_size = 4});
  engine.Submit(Prompt(1, 6), 2);
  engine.Run();
  const RequestId a = engine.Submit(Join(Prompt(1, 6), Prompt(3, 3)), 4);  // with a copy-on-write
  engine.Begin();
  ASSERT_EQ(engine.copies().size(), 1u);
  engine.Cancel(a);
  engine.End();
  EXPECT_EQ(engine[a].reason, FinishReason::kCancelled);
  EXPECT_TRUE(engine[a].tokens.empty());
  EXPECT_EQ(engine[a].observed.first_token, 0);
  ExpectClean(engine);
}

TEST(Cancel, OfOneThatTheStepInFlightDoesNotNameTakesEffectAtOnce) {
  Engine engine({.page_size = 4, .max_batch_tokens = 6, .max_running = 4});
  const RequestId a = engine.Submit(Prompt(1, 4), 20);
  const RequestId b = engine.Submit(Prompt(2, 30), 4);
  const RequestId c = engine.Submit(Prompt(3, 5), 4);
  engine.Begin();
  EXPECT_TRUE(engine[b].admitted);
  engine.Cancel(c);
  EXPECT_EQ(engine[c].reason, FinishReason::kCancelled);
  engine.End();
  EXPECT_FALSE(engine[a].finished());
  EXPECT_FALSE(engine[b].finished());
}

TEST(Cancel, LeavesTheOthersOfTheStepAlone) {
  Engine engine({.page_size = 4, .max_batch_tokens = 32});
  std::vector<RequestId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(engine.Submit(Prompt(1, 7), 10));
  engine.Step();
  engine.Begin();
  engine.Cancel(ids[0]);
  engine.Cancel(ids[2]);
  engine.End();
  engine.Run();
  EXPECT_EQ(engine[ids[1]].tokens, Expected(Prompt(1, 7), 10).tokens);
  EXPECT_EQ(engine[ids[3]].tokens, Expected(Prompt(1, 7), 10).tokens);
  ExpectClean(engine);
}

TEST(Cancel, OfAnUnknownOrFinishedRequestIsIgnored) {
  Engine engine({});
  const RequestId a = engine.Submit(Prompt(1, 4), 1);
  engine.Run();
  engine.Cancel(a);
  engine.Cancel(RequestId{999});
  EXPECT_EQ(engine[a].reason, FinishReason::kLength);
  EXPECT_EQ(engine[a].observed.finished, 1);
}

TEST(Cancel, TheFirstOfTwoCounts) {
  Engine engine({});
  const RequestId a = engine.Submit(Prompt(1, 4), 9);
  engine.Step();
  engine.Begin();
  engine.Cancel(a);
  engine.StopString(a, 1);
  engine.End();
  EXPECT_EQ(engine[a].reason, FinishReason::kCancelled);
  EXPECT_EQ(engine[a].observed.finished, 1);
}

TEST(StopString, EndsWithStopAndCountsWhatTheAnswerUsed) {
  Engine engine({});
  const RequestId a = engine.Submit(Prompt(1, 4), 20);
  for (int i = 0; i < 6; ++i) engine.Step();
  engine.StopString(a, 4);
  EXPECT_EQ(engine[a].reason, FinishReason::kStop);
  EXPECT_EQ(engine[a].usage.output_tokens, 4);
  EXPECT_EQ(engine.Cached(Join(Prompt(1, 4), engine[a].tokens)), 4 + 6 - 1)
      << "the tokens after the stop string are computed, so they are kept";
}

TEST(StopString, WithAStepInFlightEndsWithStopToo) {
  Engine engine({});
  const RequestId a = engine.Submit(Prompt(1, 4), 20);
  for (int i = 0; i < 3; ++i) engine.Step();
  engine.Begin();
  engine.StopString(a, 3);
  engine.End();
  EXPECT_EQ(engine[a].reason, FinishReason::kStop);
  EXPECT_EQ(engine[a].usage.output_tokens, 3);
  EXPECT_EQ(engine[a].tokens.size(), 3u);
}

TEST(StopString, CannotUseMoreThanWasSampled) {
  for (const std::int64_t said : {2, 3, 4}) {
    Engine engine({});
    const RequestId a = engine.Submit(Prompt(1, 4), 20);
    for (int i = 0; i < 3; ++i) engine.Step();
    engine.StopString(a, said);
    EXPECT_EQ(engine[a].usage.output_tokens, std::min<std::int64_t>(said, 3));
  }
}

}  // namespace
}  // namespace banyan::scheduler
