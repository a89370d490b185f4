// What each step runs.
#include <cstdint>
#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/fixture.h"

namespace banyan::scheduler {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Batch, CutsAPromptIntoChunksAndSamplesAfterTheLast) {
  Engine engine({.max_batch_tokens = 16});
  const RequestId a = engine.Submit(Prompt(1, 40), 2);
  engine.Step();
  EXPECT_THAT(engine.chunks(), ElementsAre(Chunk{a, 0, 16, false}));
  engine.Step();
  EXPECT_THAT(engine.chunks(), ElementsAre(Chunk{a, 16, 16, false}));
  EXPECT_TRUE(engine[a].tokens.empty());
  engine.Step();
  EXPECT_THAT(engine.chunks(), ElementsAre(Chunk{a, 32, 8, true}));
  EXPECT_THAT(engine[a].tokens, SizeIs(1));
  engine.Step();
  EXPECT_THAT(engine.chunks(), ElementsAre(Chunk{a, 40, 1, true}));
  EXPECT_TRUE(engine[a].finished());
  EXPECT_FALSE(engine.Step()) << "the KV of the last token is nobody's business";
}

TEST(Batch, APromptAroundTheBudget) {
  for (const std::size_t length : {15u, 16u, 17u}) {
    Engine engine({.max_batch_tokens = 16});
    const RequestId a = engine.Submit(Prompt(1, length), 1);
    engine.Step();
    EXPECT_EQ(engine[a].finished(), length <= 16);
    engine.Run();
    EXPECT_EQ(engine[a].tokens, Expected(Prompt(1, length), 1).tokens);
  }
}

TEST(Batch, DecodesComeFirstAndPrefillsGetTheRestInOrderOfArrival) {
  Engine engine({.max_batch_tokens = 10, .max_running = 4});
  const RequestId a = engine.Submit(Prompt(1, 4), 9);
  engine.Step();
  const RequestId b = engine.Submit(Prompt(2, 12), 9);
  const RequestId c = engine.Submit(Prompt(3, 12), 9);
  engine.Step();
  EXPECT_THAT(engine.chunks(), ElementsAre(Chunk{a, 4, 1, true}, Chunk{b, 0, 9, false}));
  engine.Step();
  EXPECT_THAT(engine.chunks(),
              ElementsAre(Chunk{a, 5, 1, true}, Chunk{b, 9, 3, true}, Chunk{c, 0, 6, false}));
  engine.Step();
  EXPECT_THAT(engine.chunks(),
              ElementsAre(Chunk{a, 6, 1, true}, Chunk{b, 12, 1, true}, Chunk{c, 6, 6, true}));
}

// Whoever reads an answer waits for all of a step. Alone, a prompt has the whole step.
TEST(Batch, BesideDecodesPromptsGetNoMoreThanTheirBound) {
  for (const std::int32_t bound : {1, 8, 14, 15, 16}) {
    Engine engine({.pages = 200, .max_batch_tokens = 16, .mixed_prefill_tokens = bound});
    const RequestId decoding = engine.Submit(Prompt(1, 16), 3);
    engine.Step();
    EXPECT_THAT(engine.chunks(), ElementsAre(Chunk{decoding, 0, 16, true}));
    const RequestId prefilling = engine.Submit(Prompt(2, 100), 1);
    const std::int64_t most = std::min(bound, 15);
    engine.Step();
    EXPECT_THAT(engine.chunks(),
                ElementsAre(Chunk{decoding, 16, 1, true}, Chunk{prefilling, 0, most, false}));
    engine.Step();
    engine.Step();
    EXPECT_THAT(engine.chunks(), ElementsAre(Chunk{prefilling, 2 * most, 16, false}))
        << "nothing decodes any more";
    engine.Run();
    EXPECT_EQ(engine[prefilling].tokens, Expected(Prompt(2, 100), 1).tokens);
  }
}

// Many that wait beside few that decode are not kept waiting for evenness' sake.
TEST(Batch, PromptsGetMoreBesideDecodesWhereMoreWaitForEachOfThose) {
  struct Case {
    int decoding;
    int waiting;
    std::int64_t times;  // the bound
  };
  const std::vector<Case> cases = {
      {1, 1, 1}, {1, 2, 2}, {1, 3, 3}, {1, 5, 5}, {1, 6, 5},  // of six places one is taken
      {2, 1, 1}, {2, 2, 1}, {2, 3, 2}, {2, 4, 2}, {2, 5, 2}, {3, 3, 1}, {3, 4, 1}, {5, 4, 1}};
  for (const Case& c : cases) {
    Engine engine(
        {.pages = 400, .max_batch_tokens = 64, .mixed_prefill_tokens = 4, .max_running = 6});
    for (int i = 0; i < c.decoding; ++i) engine.Submit(Prompt(i, 10), 3);
    engine.Step();
    for (int i = 0; i < c.waiting; ++i) engine.Submit(Prompt(10 + i, 100), 1);
    engine.Step();
    std::int64_t prompts = 0;
    for (const Chunk& chunk : engine.chunks()) {
      if (!chunk.samples) prompts += chunk.tokens;
    }
    EXPECT_EQ(prompts, 4 * c.times) << c.waiting << " wait beside " << c.decoding;
    engine.Run();
  }
}

// The tightest budget there may be: all but one request decode, and one token is left.
TEST(Batch, NeitherDecodesNorPrefillsStarve) {
  Engine engine({.pages = 200, .max_batch_tokens = 5, .max_running = 4});
  std::vector<RequestId> decoding;
  for (int i = 0; i < 3; ++i) decoding.push_back(engine.Submit(Prompt(i, 1), 60));
  engine.Step();
  const RequestId prefilling = engine.Submit(Prompt(9, 50), 4);
  std::int64_t prefilled = 0;
  while (prefilled < 50) {
    ASSERT_TRUE(engine.Step());
    std::map<RequestId, std::int64_t> tokens;
    for (const Chunk& chunk : engine.chunks()) tokens[chunk.request] += chunk.tokens;
    for (const RequestId id : decoding) EXPECT_EQ(tokens[id], 1);
    EXPECT_EQ(tokens[prefilling], 2);
    prefilled += tokens[prefilling];
  }
  engine.Run();
}

// The short one gets a quarter of what decodes leave, the giant one the rest.
TEST(Batch, AShortPromptIsNotHeldUpByAGiantOne) {
  Engine engine({.pages = 200, .max_batch_tokens = 17, .max_running = 4});
  const RequestId decoding = engine.Submit(Prompt(3, 1), 60);
  engine.Step();
  const RequestId giant = engine.Submit(Prompt(1, 300), 1);
  engine.Step();
  const RequestId small = engine.Submit(Prompt(2, 6), 1);
  engine.Step();
  EXPECT_THAT(engine.chunks(), ElementsAre(Chunk{decoding, 2, 1, true}, Chunk{giant, 16, 12, false},
                                           Chunk{small, 0, 4, false}));
  engine.Step();
  EXPECT_THAT(engine.chunks(), ElementsAre(Chunk{decoding, 3, 1, true}, Chunk{giant, 28, 14, false},
                                           Chunk{small, 4, 2, true}));
  engine.Run();
}

// At most one newcomer at a time is let in for that quarter, and only one that is shorter than what
// the others still have to compute.
TEST(Batch, OnlyAShorterPromptIsLetInBesideAGiantOne) {
  for (const std::size_t length : {83u, 84u, 85u}) {
    Engine engine({.pages = 200, .max_batch_tokens = 16, .max_running = 8});
    engine.Submit(Prompt(1, 100), 1);
    engine.Step();  // 84 are left
    const RequestId next = engine.Submit(Prompt(2, length), 1);
    const RequestId last = engine.Submit(Prompt(3, 50), 1);
    engine.Step();
    EXPECT_EQ(engine[next].admitted, length < 84);
    EXPECT_FALSE(engine[last].admitted);
  }
}

// What is cached of a prompt need not be computed.
TEST(Batch, ALongPromptThatIsCachedIsAShortOne) {
  Engine engine({.pages = 200, .max_batch_tokens = 16, .max_running = 8});
  engine.Submit(Prompt(2, 96), 1);
  engine.Run();
  engine.Submit(Prompt(1, 100), 1);
  engine.Step();  // 84 are left
  const RequestId next = engine.Submit(Join(Prompt(2, 96), Prompt(3, 4)), 1);
  engine.Step();
  EXPECT_TRUE(engine[next].admitted);
  engine.Run();
}

// A step with fewer than four tokens for prompts is not divided.
TEST(Batch, AQuarterOfTooLittleIsNothing) {
  for (const std::int32_t budget : {4, 5}) {
    Engine engine({.pages = 200, .max_batch_tokens = budget, .max_running = 3});
    engine.Submit(Prompt(9, 1), 60);
    engine.Step();
    const RequestId giant = engine.Submit(Prompt(1, 100), 1);
    const RequestId small = engine.Submit(Prompt(2, 3), 1);
    engine.Step();
    EXPECT_TRUE(engine[giant].admitted);
    EXPECT_EQ(engine[small].admitted, budget == 5);
    engine.Run();
  }
}

// A flood of long prompts never takes a decoding request's token, and prompts get all the rest: one
// that is cut off has used up the budget.
TEST(Batch, EveryDecodingRequestGetsOneTokenPerStepUnderAFlood) {
  Engine engine({.pages = 400, .max_batch_tokens = 9, .max_running = 8});
  for (int i = 0; i < 20; ++i) engine.Submit(Prompt(i, 10 + static_cast<std::size_t>(i)), 12);
  while (true) {
    std::vector<RequestId> decoding;
    for (const auto& [id, answer] : engine.answers()) {
      if (!answer.tokens.empty() && !answer.finished()) decoding.push_back(id);
    }
    if (engine.Begin().empty()) break;
    std::map<RequestId, std::int64_t> tokens;
    std::int64_t sum = 0;
    for (const Chunk& chunk : engine.chunks()) {
      tokens[chunk.request] = chunk.tokens;
      sum += chunk.tokens;
    }
    for (const RequestId id : decoding) EXPECT_EQ(tokens[id], 1);
    for (const Chunk& chunk : engine.chunks()) EXPECT_TRUE(chunk.samples || sum == 9);
    const Stats stats = engine.scheduler().stats();
    if (stats.waiting > 0 && stats.running < 8) {
      EXPECT_EQ(sum, 9);
    }
    engine.End();
  }
  for (const auto& [id, answer] : engine.answers()) EXPECT_EQ(answer.reason, FinishReason::kLength);
}

TEST(Batch, ComputesPromptAndOutputButTheLastToken) {
  for (std::int64_t max_tokens = 1; max_tokens <= 9; ++max_tokens) {
    Engine engine({.page_size = 4});
    const std::vector<TokenId> prompt = Prompt(1, 11);
    const RequestId a = engine.Submit(prompt, max_tokens);
    engine.Run();
    EXPECT_EQ(engine.model().computed(), 11 + max_tokens - 1);
    EXPECT_EQ(engine.scheduler().stats().computed_prompt_tokens, 11);
    const std::vector<TokenId> path = Join(prompt, engine[a].tokens);
    EXPECT_EQ(engine.Cached(path), 11 + max_tokens - 1) << "and leaves all of it to the tree";
  }
}

TEST(Batch, TheNextTurnFindsTheAnswerOfThisOne) {
  Engine engine({.page_size = 4});
  const RequestId first = engine.Submit(Prompt(1, 10), 7);
  engine.Run();
  const std::vector<TokenId> turn = Join(Join(Prompt(1, 10), engine[first].tokens), Prompt(2, 5));
  const RequestId second = engine.Submit(turn, 4);
  engine.Run();
  EXPECT_EQ(engine[second].cached_tokens, 10 + 7 - 1);
  EXPECT_EQ(engine[second].tokens, Expected(turn, 4).tokens);
}

TEST(Batch, FullPagesArePublishedWhileTheRequestRuns) {
  Engine engine({.page_size = 4});
  const RequestId a = engine.Submit(Prompt(1, 6), 40);
  for (int i = 0; i < 7; ++i) engine.Step();  // 12 tokens computed
  const std::vector<TokenId> path = Join(Prompt(1, 6), engine[a].tokens);
  EXPECT_EQ(engine.Cached(path), 12);
  const RequestId b = engine.Submit(path, 4);
  engine.Step();
  EXPECT_EQ(engine[b].cached_tokens, 12);
  EXPECT_FALSE(engine[a].finished());
  engine.Run();
  EXPECT_EQ(engine[a].tokens, Expected(Prompt(1, 6), 40).tokens);
  EXPECT_EQ(engine[b].tokens, Expected(path, 4).tokens);
}

TEST(Batch, IdenticalPromptsInOneStepAgreeAndKeepOneCopy) {
  Engine engine({.page_size = 4, .max_batch_tokens = 64, .max_running = 4});
  std::vector<RequestId> ids;
  for (int i = 0; i < 4; ++i) ids.push_back(engine.Submit(Prompt(1, 16), 8));
  engine.Run();
  for (const RequestId id : ids) EXPECT_EQ(engine[id].tokens, Expected(Prompt(1, 16), 8).tokens);
  EXPECT_EQ(engine.cache().stats().cached_tokens, 16 + 8 - 1);
  EXPECT_EQ(engine.HeldPages(), 0);
}

TEST(Batch, ACopyOnWriteComesWithTheFirstStepOnly) {
  Engine engine({.page_size = 4, .max_batch_tokens = 6});
  engine.Submit(Prompt(1, 10), 1);
  engine.Run();
  // Two whole pages and two slots of the third are cached; the new end takes two steps.
  const std::vector<TokenId> prompt = Join(Prompt(1, 10), Prompt(7, 9));
  const RequestId a = engine.Submit(prompt, 3);
  engine.Step();
  EXPECT_EQ(engine[a].cached_tokens, 10);
  ASSERT_THAT(engine.copies(), SizeIs(1));
  EXPECT_EQ(engine.copies()[0].slots, 2);
  EXPECT_THAT(engine.chunks(), ElementsAre(Chunk{a, 10, 6, false}));
  engine.Step();
  EXPECT_THAT(engine.copies(), IsEmpty());
  engine.Run();
  EXPECT_EQ(engine[a].tokens, Expected(prompt, 3).tokens);
}

TEST(Batch, IsEmptyWhenThereIsNothingToRunAndThenNeedsNoComplete) {
  Engine engine({});
  EXPECT_TRUE(engine.Begin().empty());
  EXPECT_TRUE(engine.Begin().empty());
  EXPECT_TRUE(engine.scheduler().idle());
  engine.Submit(Prompt(1, 3), 1);
  EXPECT_FALSE(engine.scheduler().idle());
  engine.Run();
  EXPECT_TRUE(engine.scheduler().idle());
  EXPECT_EQ(engine.scheduler().stats().steps, 1);
}

TEST(Batch, CarriesWhatTheDrawDependsOn) {
  Engine engine({});
  Ask ask;
  ask.prompt = Prompt(1, 3);
  ask.max_tokens = 2;
  ask.sampling = {.temperature = 0.5F,
                  .top_k = 9,
                  .top_p = 0.25F,
                  .min_p = 0.125F,
                  .repetition_penalty = 1.5F,
                  .presence_penalty = 0.75F,
                  .frequency_penalty = -0.5F,
                  .seed = 7,
                  .choice = 3};
  ask.logit_bias = {{5, 1.5F}, {6, -100.0F}};
  engine.Submit(ask);
  for (int step = 0; step < 2; ++step) {  // of the prefill, of a decode
    const Batch& batch = engine.Begin();  // which compares the spans
    ASSERT_THAT(batch.sequences, SizeIs(1));
    const SamplingParams& sampling = batch.sequences[0].sampling;
    EXPECT_EQ(sampling.temperature, 0.5F);
    EXPECT_EQ(sampling.top_k, 9);
    EXPECT_EQ(sampling.top_p, 0.25F);
    EXPECT_EQ(sampling.min_p, 0.125F);
    EXPECT_EQ(sampling.repetition_penalty, 1.5F);
    EXPECT_EQ(sampling.presence_penalty, 0.75F);
    EXPECT_EQ(sampling.frequency_penalty, -0.5F);
    EXPECT_EQ(sampling.seed, 7U);
    EXPECT_EQ(sampling.choice, 3U);
    engine.End();
  }
}

TEST(Batch, GivesBackLogProbabilities) {
  for (const std::int32_t top : {0, 1, kMaxTopLogprobs}) {
    Engine engine({});
    Ask ask;
    ask.prompt = Prompt(1, 3);
    ask.max_tokens = 3;
    ask.top_logprobs = top;
    const RequestId a = engine.Submit(ask);
    engine.Run();
    const std::vector<TokenId> path = Join(ask.prompt, Expected(ask.prompt, 3).tokens);
    ExpectSame(engine[a].scored_tokens, ExpectedScores(path, 3, top));
  }
}

// The context is asked for where a token is drawn, and grows by what was: the engine's Begin
// compares it with the true path.
TEST(Batch, GivesThePathToPenaltiesOnly) {
  for (const SamplingParams& sampling :
       {SamplingParams{}, SamplingParams{.repetition_penalty = 1.1F},
        SamplingParams{.presence_penalty = 0.1F}, SamplingParams{.frequency_penalty = 0.1F}}) {
    Engine engine({.max_batch_tokens = 6});
    Ask ask;
    ask.prompt = Prompt(1, 15);
    ask.max_tokens = 5;
    ask.sampling = sampling;
    engine.Submit(ask);
    std::vector<std::size_t> sizes;
    for (int step = 0; step < 7; ++step) {
      sizes.push_back(engine.Begin().sequences.at(0).context.size());
      engine.End();
    }
    EXPECT_THAT(sizes, sampling.penalizes() ? ElementsAre(0, 0, 15, 16, 17, 18, 19)
                                            : ElementsAre(0, 0, 0, 0, 0, 0, 0));
  }
}

// Pages enter the cache when their step completes, and are matched when the next one is made.
TEST(Batch, TellsTheCacheTheTime) {
  struct Gaps final : radix::Observer {
    void OnEvicted(Tick, Tick) override {}
    void OnReused(std::int32_t, Tick gap) override { gaps.push_back(gap); }
    std::vector<Tick> gaps;
  } observer;
  radix::PrefixCache cache({.page_size = 4, .pages = 8}, &observer);
  FakeModel model(4, 8);
  Scheduler scheduler({.max_batch_tokens = 16, .max_running = 4, .context_length = 100}, cache);
  const auto run = [&](std::uint64_t id, Tick next, Tick complete) {
    Request request;
    request.id = RequestId{id};
    request.prompt = Prompt(1, 9);
    request.max_tokens = 1;
    request.stream = std::make_shared<TokenStream>(4, [] {});
    scheduler.Submit(std::move(request), Tick(0));
    scheduler.Complete(model.Forward(scheduler.Next(next)), complete);
  };
  run(1, Tick(10), Tick(20));
  run(2, Tick(50), Tick(60));
  EXPECT_THAT(observer.gaps, ElementsAre(Tick(30)));
}

TEST(Batch, KeepsItsSpansUntilComplete) {
  Engine engine({.page_size = 4, .max_batch_tokens = 32});
  const RequestId a = engine.Submit(Prompt(1, 9), 8);
  engine.Step();
  const RequestId b = engine.Submit(Prompt(2, 9), 8);
  const Batch& batch = engine.Begin();
  std::vector<std::vector<TokenId>> tokens;
  std::vector<std::vector<PageId>> pages;
  for (const Sequence& s : batch.sequences) {
    tokens.emplace_back(s.tokens.begin(), s.tokens.end());
    pages.emplace_back(s.pages.begin(), s.pages.end());
  }
  for (int i = 10; i < 40; ++i) engine.Submit(Prompt(i, 9), 8);
  engine.Cancel(a);
  engine.Cancel(b);
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    EXPECT_THAT(tokens[i], testing::ElementsAreArray(batch.sequences[i].tokens));
    EXPECT_THAT(pages[i], testing::ElementsAreArray(batch.sequences[i].pages));
  }
  engine.End();
  engine.Run();
}

TEST(BatchDeathTest, OneStepIsInFlightAtMost) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Engine engine({});
  engine.Submit(Prompt(1, 3), 4);
  EXPECT_DEATH(engine.scheduler().Complete({}, Tick(0)), "CHECK failed");
  const Batch& batch = engine.Begin();
  EXPECT_DEATH(engine.scheduler().Next(Tick(0)), "CHECK failed");
  StepResult other = engine.model().Forward(batch);
  ++other.step;
  EXPECT_DEATH(engine.scheduler().Complete(other, Tick(0)), "CHECK failed");
  StepResult none;
  none.step = batch.step;
  EXPECT_DEATH(engine.scheduler().Complete(none, Tick(0)), "CHECK failed");
}

TEST(BatchDeathTest, TheBudgetIsOverMaxRunning) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Engine above({.max_batch_tokens = 5, .max_running = 4});
  EXPECT_DEATH(Engine({.max_batch_tokens = 4, .max_running = 4}), "CHECK failed");
  EXPECT_DEATH(Engine({.max_batch_tokens = 3, .max_running = 4}), "CHECK failed");
  EXPECT_DEATH(Engine({.max_batch_tokens = 3, .max_running = 0}), "CHECK failed");
}

}  // namespace
}  // namespace banyan::scheduler
