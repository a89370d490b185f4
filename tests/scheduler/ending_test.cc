// Every way in which a request ends, and what it is told then.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/fixture.h"

namespace banyan::scheduler {
namespace {

using std::chrono::seconds;

TEST(Ending, ByLength) {
  Engine engine({});
  const RequestId a = engine.Submit(Prompt(1, 5), 7);
  engine.Run();
  EXPECT_EQ(engine[a].reason, FinishReason::kLength);
  EXPECT_EQ(engine[a].tokens, Expected(Prompt(1, 5), 7).tokens);
  EXPECT_EQ(engine[a].usage.prompt_tokens, 5);
  EXPECT_EQ(engine[a].usage.output_tokens, 7);
}

TEST(Ending, ByOneToken) {
  Engine engine({});
  const RequestId a = engine.Submit(Prompt(1, 5), 1);
  EXPECT_TRUE(engine.Step());
  EXPECT_EQ(engine[a].reason, FinishReason::kLength);
  EXPECT_EQ(engine[a].tokens.size(), 1u);
  EXPECT_FALSE(engine.Step());
}

TEST(Ending, ByTheContext) {
  for (const std::int64_t asked : {9, 10, 11, 1000}) {
    Engine engine({.context_length = 30});
    const RequestId a = engine.Submit(Prompt(1, 20), asked);
    engine.Run();
    EXPECT_EQ(engine[a].reason, FinishReason::kLength);
    EXPECT_EQ(engine[a].usage.output_tokens, std::min<std::int64_t>(asked, 10));
  }
}

TEST(Ending, ByThePool) {
  for (const std::int64_t asked : {12, 13, 14, 1000}) {  // 32 slots for 20 + 13 - 1
    Engine engine({.page_size = 4, .pages = 8});
    const RequestId a = engine.Submit(Prompt(1, 20), asked);
    engine.Run();
    EXPECT_EQ(engine[a].reason, FinishReason::kLength);
    EXPECT_EQ(engine[a].usage.output_tokens, std::min<std::int64_t>(asked, 13));
  }
}

// The third token is an end token: it is counted, but not sent.
TEST(Ending, ByAnEndToken) {
  Engine engine({.page_size = 4});
  const std::vector<TokenId> plain = Expected(Prompt(1, 5), 3).tokens;
  ASSERT_NE(plain[2], plain[0]);
  ASSERT_NE(plain[2], plain[1]);
  Ask ask;
  ask.prompt = Prompt(1, 5);
  ask.max_tokens = 20;
  ask.end_tokens = {plain[2], 96, 1000};
  std::sort(ask.end_tokens.begin(), ask.end_tokens.end());
  const RequestId a = engine.Submit(ask);
  engine.Run();
  EXPECT_EQ(engine[a].reason, FinishReason::kStop);
  EXPECT_THAT(engine[a].tokens, testing::ElementsAre(plain[0], plain[1]));
  EXPECT_EQ(engine[a].usage.output_tokens, 3);
  EXPECT_EQ(engine[a].observed.first_token + engine[a].observed.more_tokens, 3);
  EXPECT_EQ(engine.Cached(Join(Prompt(1, 5), plain)), 7) << "the end token has no KV";
}

TEST(Ending, ByAnEndTokenAtOnce) {
  Engine engine({});
  Ask ask;
  ask.prompt = Prompt(1, 5);
  ask.max_tokens = 1;
  ask.end_tokens = {FakeModel::TokenAfter(ask.prompt)};
  const RequestId a = engine.Submit(ask);
  engine.Run();
  EXPECT_EQ(engine[a].reason, FinishReason::kStop) << "also when it is the last one allowed";
  EXPECT_TRUE(engine[a].tokens.empty());
  EXPECT_EQ(engine[a].usage.output_tokens, 1);
}

TEST(Ending, BySlowReading) {
  for (const std::size_t capacity : {5u, 6u, 7u}) {
    Engine engine({.page_size = 4});
    Ask ask;
    ask.prompt = Prompt(1, 5);
    ask.max_tokens = 5;
    ask.stream_capacity = capacity;  // the admission and five tokens are six events
    const RequestId slow = engine.Submit(ask);
    engine[slow].reads = false;
    const RequestId other = engine.Submit(Prompt(2, 5), 10);
    engine.Run();
    engine[slow].reads = true;
    engine.ReadStreams();
    EXPECT_EQ(engine[slow].reason,
              capacity < 6 ? FinishReason::kSlowReader : FinishReason::kLength);
    EXPECT_EQ(engine[slow].tokens.size(), std::min<std::size_t>(capacity - 1, 5));
    EXPECT_EQ(engine[slow].usage.output_tokens, 5);
    EXPECT_EQ(engine[other].reason, FinishReason::kLength);
    EXPECT_EQ(engine.HeldPages(), 0);
  }
}

TEST(Ending, BySlowReadingOfTheFirstToken) {
  Engine engine({.page_size = 4});
  Ask ask;
  ask.prompt = Prompt(1, 5);
  ask.stream_capacity = 1;
  const RequestId slow = engine.Submit(ask);
  engine[slow].reads = false;
  engine.Run();
  EXPECT_EQ(engine[slow].observed.reason, FinishReason::kSlowReader);
  EXPECT_EQ(engine.Cached(Prompt(1, 5)), 5) << "what was computed is kept";
}

TEST(Ending, ByAStreamThatIsFullAtAdmission) {
  Engine engine({.page_size = 4});
  Ask ask;
  ask.prompt = Prompt(1, 5);
  ask.stream_capacity = 1;
  const RequestId slow = engine.Submit(ask);
  engine[slow].reads = false;
  engine[slow].stream->Push({});
  const RequestId other = engine.Submit(Prompt(2, 5), 3);
  engine.Step();
  EXPECT_EQ(engine[slow].observed.reason, FinishReason::kSlowReader);
  EXPECT_TRUE(engine[other].admitted) << "in the same step";
  engine.Run();
  EXPECT_EQ(engine.HeldPages(), 0);
}

TEST(Ending, ByAFailedStepWhichLeavesNothingBehind) {
  Engine engine({.page_size = 4, .max_batch_tokens = 32});
  const RequestId a = engine.Submit(Prompt(1, 10), 8);
  const RequestId b = engine.Submit(Prompt(2, 10), 8);
  engine.FailStep();
  EXPECT_EQ(engine[a].reason, FinishReason::kFailed);
  EXPECT_EQ(engine[b].reason, FinishReason::kFailed);
  EXPECT_EQ(engine[a].usage.output_tokens, 0);
  EXPECT_EQ(engine.Cached(Prompt(1, 10)), 0);
  EXPECT_EQ(engine.HeldPages(), 0);
  EXPECT_EQ(engine.scheduler().stats().failed_steps, 1);
  EXPECT_EQ(engine.scheduler().stats().computed_prompt_tokens, 0);

  const RequestId again = engine.Submit(Prompt(1, 10), 8);
  engine.Run();
  EXPECT_EQ(engine[again].tokens, Expected(Prompt(1, 10), 8).tokens);
}

TEST(Ending, ByAFailedStepKeepsThePagesPublishedBefore) {
  Engine engine({.page_size = 4});
  const RequestId a = engine.Submit(Prompt(1, 6), 20);
  for (int i = 0; i < 6; ++i) engine.Step();  // 11 tokens computed
  engine.FailStep();
  EXPECT_EQ(engine[a].reason, FinishReason::kFailed);
  EXPECT_EQ(engine[a].usage.output_tokens, 6);
  EXPECT_EQ(engine.Cached(Join(Prompt(1, 6), engine[a].tokens)), 8);
  EXPECT_EQ(engine.HeldPages(), 0);
}

TEST(Ending, ByAFailedStepWithACopyOnWrite) {
  Engine engine({.page_size = 4});
  engine.Submit(Prompt(1, 6), 2);
  engine.Run();
  const std::vector<TokenId> prompt = Join(Prompt(1, 6), Prompt(3, 6));
  engine.Submit(prompt, 4);
  engine.FailStep();
  ASSERT_EQ(engine.copies().size(), 1u);
  EXPECT_EQ(engine.HeldPages(), 0);
  const RequestId again = engine.Submit(prompt, 4);
  engine.Run();
  EXPECT_EQ(engine[again].tokens, Expected(prompt, 4).tokens);
}

TEST(Ending, AFailedStepSparesThoseThatWereNotInIt) {
  Engine engine({.page_size = 4, .max_batch_tokens = 6, .max_running = 4});
  const RequestId in = engine.Submit(Prompt(1, 12), 4);
  const RequestId out = engine.Submit(Prompt(2, 13), 4);  // it finds no room in that step
  engine.FailStep();
  EXPECT_EQ(engine[in].reason, FinishReason::kFailed);
  engine.Run();
  EXPECT_EQ(engine[out].tokens, Expected(Prompt(2, 13), 4).tokens);
}

TEST(Ending, ACancelBeforeTheFailureCounts) {
  Engine engine({.page_size = 4});
  const RequestId gone = engine.Submit(Prompt(1, 5), 4);
  const RequestId stopped = engine.Submit(Prompt(2, 5), 4);
  engine.Step();
  engine.Begin();
  engine.Cancel(gone);
  engine.StopString(stopped, 1);
  engine.EndFailed();
  EXPECT_EQ(engine[gone].reason, FinishReason::kCancelled);
  EXPECT_EQ(engine[stopped].reason, FinishReason::kStop);
  EXPECT_EQ(engine[stopped].usage.output_tokens, 1);
  EXPECT_EQ(engine.HeldPages(), 0);
}

TEST(Ending, ByShutdownInEveryState) {
  Engine engine({.page_size = 4, .max_batch_tokens = 6, .max_running = 4});
  engine.Submit(Prompt(7, 6), 1);
  engine.Run();
  const RequestId decode = engine.Submit(Prompt(1, 4), 20);
  engine.Step();
  const RequestId prefill = engine.Submit(Prompt(7, 30), 4);
  const RequestId waiting = engine.Submit(Prompt(3, 30), 4);
  engine.Begin();
  engine.Cancel(decode);
  engine.ShutDown();
  EXPECT_EQ(engine[decode].reason, FinishReason::kCancelled) << "that came first";
  EXPECT_EQ(engine[prefill].reason, FinishReason::kShutdown);
  EXPECT_EQ(engine[waiting].reason, FinishReason::kShutdown);
  for (const RequestId id : {decode, prefill, waiting}) EXPECT_EQ(engine[id].observed.finished, 1);
  EXPECT_EQ(engine.HeldPages(), 0);
  EXPECT_TRUE(engine.cache().CheckInvariants().ok());
}

TEST(Ending, TellsTimes) {
  Engine engine({.max_batch_tokens = 6});
  engine.Advance(seconds(100));
  const RequestId a = engine.Submit(Prompt(1, 10), 3);
  engine.Advance(seconds(1));
  engine.Step();  // admitted after 1 s
  engine.Advance(seconds(2));
  engine.Step();  // first token after 3 s
  engine.Advance(seconds(4));
  engine.Step();
  engine.Advance(seconds(8));
  engine.Step();  // the end after 15 s
  const Answer& answer = engine[a];
  ASSERT_EQ(answer.reason, FinishReason::kLength);
  EXPECT_EQ(answer.usage.queued, seconds(1));
  EXPECT_EQ(answer.usage.prefill, seconds(2));
  EXPECT_EQ(answer.usage.decode, seconds(12));
  EXPECT_EQ(answer.observed.queued, seconds(1));
  EXPECT_EQ(answer.observed.first_token_after, seconds(3));
  EXPECT_EQ(answer.observed.since_last, seconds(8));
  EXPECT_EQ(answer.observed.finished_after, seconds(15));
}

TEST(Ending, TellsTimesOfWhatNeverCame) {
  Engine engine({.max_batch_tokens = 6});
  const RequestId prefill = engine.Submit(Prompt(1, 10), 3);
  const RequestId waiting = engine.Submit(Prompt(2, 10), 3);
  engine.Advance(seconds(1));
  engine.Step();
  engine.Advance(seconds(2));
  engine.Cancel(prefill);
  engine.Cancel(waiting);
  EXPECT_EQ(engine[prefill].usage.queued, seconds(1));
  EXPECT_EQ(engine[prefill].usage.prefill, seconds(2));
  EXPECT_EQ(engine[prefill].usage.decode, seconds(0));
  EXPECT_EQ(engine[waiting].usage.queued, seconds(3));
  EXPECT_EQ(engine[waiting].usage.prefill, seconds(0));
}

TEST(Ending, TimesAreNeverNegative) {
  Engine engine({});
  Ask ask;
  ask.prompt = Prompt(1, 4);
  ask.max_tokens = 1;
  ask.submitted = seconds(5);  // another thread's clock was read later than the engine's
  const RequestId a = engine.Submit(ask);
  engine.Run();
  EXPECT_EQ(engine[a].usage.queued, seconds(0));
  EXPECT_EQ(engine[a].observed.finished_after, seconds(0));
}

TEST(Ending, TheObserverSeesWhatTheStreamSays) {
  Engine engine({});
  const RequestId first = engine.Submit(Prompt(1, 9), 5);
  engine.Run();
  const RequestId second = engine.Submit(Prompt(1, 9), 5);
  engine.Run();
  for (const RequestId id : {first, second}) {
    const Answer& answer = engine[id];
    EXPECT_EQ(answer.observed.admitted, 1);
    EXPECT_EQ(answer.observed.first_token, 1);
    EXPECT_EQ(answer.observed.more_tokens, 4);
    EXPECT_EQ(answer.observed.finished, 1);
    EXPECT_EQ(answer.observed.reason, answer.reason);
    EXPECT_EQ(answer.observed.cached_tokens, answer.cached_tokens);
    EXPECT_EQ(answer.observed.usage.cached_tokens, answer.usage.cached_tokens);
    EXPECT_EQ(answer.observed.usage.output_tokens, answer.usage.output_tokens);
  }
}

}  // namespace
}  // namespace banyan::scheduler
