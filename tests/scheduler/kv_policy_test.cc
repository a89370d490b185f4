// Requests that keep sinks and a window of their KV (policies/streaming.h), in pages of four
// tokens: 4 sinks and a window of 8 make 12 exact tokens, three pages. A step has 8 tokens behind
// them at most, so that a request never has more than 3 + 5 pages.
#include <algorithm>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/fixture.h"
#include "tests/scheduler/under_policy.h"

namespace banyan::scheduler {
namespace {

using testing::ElementsAre;

constexpr KvPolicy kStreaming{.sinks = 4, .window = 8};
constexpr std::int32_t kMostPages = 8;

Ask Lossy(std::vector<TokenId> prompt, std::int64_t max_tokens,
          const KvPolicy& policy = kStreaming) {
  return AskUnder(std::move(prompt), max_tokens, policy);
}

TEST(KvPolicy, GoesOnBeyondContextAndPool) {
  Engine engine({.pages = kMostPages, .context_length = 40});
  const RequestId id = engine.Submit(Lossy(Prompt(1, 100), 160));
  engine.Run();
  ExpectWhole(engine[id]);
  EXPECT_EQ(engine[id].usage.output_tokens, 160);
  EXPECT_EQ(engine[id].usage.kept_tokens, 12);
  EXPECT_EQ(engine[id].usage.dropped_tokens, 100 + 159 - 12);
  EXPECT_EQ(engine.scheduler().stats().dropped_tokens[0], 100 + 159 - 12);
}

TEST(KvPolicy, AShortRequestIsAsWithout) {
  Engine engine({});
  const RequestId lossy = engine.Submit(Lossy(Prompt(1, 7), 6));
  engine.Run();
  EXPECT_EQ(engine[lossy].tokens, Expected(Prompt(1, 7), 6).tokens);
  EXPECT_EQ(engine[lossy].usage.kept_tokens, 12) << "prompt and answer but its last token";
  EXPECT_EQ(engine[lossy].usage.dropped_tokens, 0);
  EXPECT_EQ(engine.Cached(Join(Prompt(1, 7), engine[lossy].tokens)), 12) << "all of it is shared";
}

TEST(KvPolicy, SaysNothingOfOthers) {
  Engine engine({});
  const RequestId exact = engine.Submit(Prompt(1, 30), 5);
  engine.Run();
  EXPECT_EQ(engine[exact].usage.kept_tokens + engine[exact].usage.dropped_tokens, 0);
}

// At the bound; CheckPolicy refuses a pool of a page less (fit_test.cc).
TEST(KvPolicy, APoolOfWhatItKeepsIsEnough) {
  for (std::size_t prompt = 1; prompt <= 60; ++prompt) {
    SCOPED_TRACE(prompt);
    Engine engine(
        {.pages = kMostPages, .max_batch_tokens = 5 + static_cast<std::int32_t>(prompt % 8)});
    const RequestId id = engine.Submit(Lossy(Prompt(1, prompt), 40));
    engine.Run();
    ExpectWhole(engine[id]);
    EXPECT_EQ(engine[id].usage.preemptions, 0);
    if (HasFailure()) return;
  }
}

TEST(KvPolicy, OfAnySizeHasAPoolThatIsJustEnough) {
  for (std::int32_t page_size = 1; page_size <= 9; ++page_size) {
    for (std::int32_t sinks = 0; sinks <= 7; ++sinks) {
      for (const std::int64_t window : {1, 2, 3, 5, 7, 8, 13}) {
        const KvPolicy policy{.sinks = sinks, .window = window};
        std::int32_t pages = 1;
        const Options options{.max_batch_tokens = 7, .context_length = 100};
        if (window < sinks) continue;
        while (!CheckPolicy(options, {.page_size = page_size, .pages = pages}, policy).ok())
          ++pages;
        Engine engine({.page_size = page_size, .pages = pages, .max_batch_tokens = 7});
        const RequestId id = engine.Submit(Lossy(Prompt(1, 50), 30, policy));
        engine.Run();
        ExpectWhole(engine[id]);
        if (HasFailure()) {
          FAIL() << sinks << " sinks, a window of " << window << ", pages of " << page_size;
        }
      }
    }
  }
}

TEST(KvPolicy, PagesDoNotGrowWithTheAnswer) {
  Engine engine({.pages = 64});
  engine.Submit(Lossy(Prompt(1, 5), 400));
  std::vector<std::int64_t> held;
  while (engine.Step()) held.push_back(engine.HeldPages());
  ASSERT_GT(held.size(), 390);
  const auto half = held.begin() + 200;
  EXPECT_LE(*std::max_element(held.begin(), held.end()), kMostPages);
  EXPECT_EQ(*std::max_element(held.begin() + 40, half), *std::max_element(half, held.end()));
  EXPECT_LE(*std::max_element(half, held.end()), 4) << "the sinks' page and a window's";
}

TEST(KvPolicy, StepsDoNotMixExactTokensWithOthers) {
  Engine engine({.max_batch_tokens = 16});
  const RequestId id = engine.Submit(Lossy(Prompt(1, 31), 1));
  std::vector<Chunk> chunks;
  while (!engine.Begin().empty()) {
    chunks.insert(chunks.end(), engine.chunks().begin(), engine.chunks().end());
    engine.End();
  }
  EXPECT_THAT(chunks, ElementsAre(Chunk{id, 0, 12, false}, Chunk{id, 12, 8, false},
                                  Chunk{id, 20, 8, false}, Chunk{id, 28, 3, true}));
}

TEST(KvPolicy, OnlyExactTokensAreFound) {
  Engine engine({});
  const RequestId first = engine.Submit(Lossy(Prompt(1, 30), 8));
  engine.Run();
  EXPECT_EQ(engine.Cached(Join(Prompt(1, 30), engine[first].tokens)), 12);
  const RequestId exact = engine.Submit(Prompt(1, 30), 8);
  engine.Run();
  EXPECT_EQ(engine[exact].cached_tokens, 12);
  ExpectWhole(engine[exact]);
  EXPECT_NE(engine[exact].tokens, engine[first].tokens);
}

TEST(KvPolicy, OnlyExactTokensAreTaken) {
  Engine engine({});
  engine.Submit(Prompt(1, 30), 8);
  engine.Run();
  const RequestId lossy = engine.Submit(Lossy(Prompt(1, 30), 8));
  engine.Run();
  EXPECT_EQ(engine[lossy].cached_tokens, 12);
  ExpectWhole(engine[lossy]);
}

TEST(KvPolicy, ExactTokensMayEndInsideAPage) {
  Engine engine({});
  const KvPolicy policy{.sinks = 4, .window = 6};
  engine.Submit(Lossy(Prompt(1, 30), 8, policy));
  engine.Run();
  EXPECT_EQ(engine.Cached(Prompt(1, 30)), 8) << "a page with others in it is not shared";
  engine.Submit(Prompt(1, 30), 1);
  engine.Run();
  const RequestId lossy = engine.Submit(Lossy(Prompt(1, 30), 8, policy));
  engine.Run();
  EXPECT_EQ(engine[lossy].cached_tokens, 10);
  ExpectWhole(engine[lossy]);
}

TEST(KvPolicy, AnExactRequestFollowsALossyOneAsFarAsThatIsExact) {
  Engine engine({.max_batch_tokens = 6});
  const RequestId lossy = engine.Submit(Lossy(Prompt(1, 40), 2));
  const RequestId exact = engine.Submit(Prompt(1, 40), 2);
  engine.Step();
  EXPECT_EQ(engine.scheduler().stats().following, 1);
  engine.Step();
  EXPECT_EQ(engine.scheduler().stats().following, 0) << "twelve tokens are computed";
  engine.Run();
  EXPECT_EQ(engine[exact].cached_tokens, 12);
  ExpectWhole(engine[lossy]);
  ExpectWhole(engine[exact]);
}

TEST(KvPolicy, LossyRequestsShareASystemPrompt) {
  Engine engine({});
  const std::vector<TokenId> system = Prompt(1, 10);
  const RequestId first = engine.Submit(Lossy(Join(system, Prompt(2, 20)), 30));
  const RequestId second = engine.Submit(Lossy(Join(system, Prompt(3, 20)), 30));
  engine.Run();
  EXPECT_EQ(engine[second].cached_tokens, 10);
  ExpectWhole(engine[first]);
  ExpectWhole(engine[second]);
}

TEST(KvPolicy, PreemptedItComesBackAndGoesOnAlike) {
  Engine engine({.pages = 9, .headroom_tokens = 1});
  const RequestId first = engine.Submit(Lossy(Prompt(1, 6), 60));
  const RequestId second = engine.Submit(Lossy(Prompt(2, 6), 60));
  engine.Run();
  EXPECT_GT(engine[second].usage.preemptions, 0);
  ExpectWhole(engine[first]);
  ExpectWhole(engine[second]);
  EXPECT_EQ(engine[second].usage.dropped_tokens, 65 - 12) << "once, however often computed";
  EXPECT_EQ(engine.scheduler().stats().dropped_tokens[0], 2 * (65 - 12));
}

TEST(KvPolicy, GivesUpAllThatItHas) {
  Engine engine({});
  const RequestId id = engine.Submit(Lossy(Prompt(1, 40), 100));
  for (int i = 0; i < 30; ++i) engine.Step();
  EXPECT_GT(engine.HeldPages(), 0);
  engine.Cancel(id);
  EXPECT_EQ(engine.HeldPages(), 0);
  EXPECT_EQ(engine.Cached(Prompt(1, 40)), 12);
}

TEST(KvPolicy, AFlushTakesItsExactPagesFromOthersNotFromItself) {
  Engine engine({});
  const RequestId id = engine.Submit(Lossy(Prompt(1, 40), 20));
  engine.Step();
  engine.cache().Flush(engine.cache().OpenNamespace(NamespaceName("", "")));
  engine.Run();
  ExpectWhole(engine[id]);
  EXPECT_EQ(engine.Cached(Prompt(1, 40)), 0);
}

TEST(KvPolicy, OneThatCannotBeIsRefused) {
  Engine engine({.context_length = 40});
  const RequestId over = engine.Submit(Lossy(Prompt(1, 5), 4, {.sinks = 4, .window = 37}));
  const RequestId just = engine.Submit(Lossy(Prompt(1, 5), 4, {.sinks = 4, .window = 36}));
  engine.Run();
  EXPECT_EQ(engine[over].reason, FinishReason::kRefused);
  EXPECT_EQ(engine[just].reason, FinishReason::kLength);
}

}  // namespace
}  // namespace banyan::scheduler
