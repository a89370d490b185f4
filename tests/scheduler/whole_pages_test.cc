// Of a model that seals its pages: they are shared whole, and what is not full is in open pages.
#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scheduler/fixture.h"

namespace banyan::scheduler {
namespace {

constexpr EngineOptions kAmple{.page_size = 4,
                               .pages = 512,
                               .max_batch_tokens = 16,
                               .max_running = 8,
                               .sharing = radix::Sharing::kPages};

// Of a repeated prompt of so many tokens.
std::int64_t CachedPart(std::size_t prompt) {
  return static_cast<std::int64_t>(prompt - 1) / 4 * 4;
}

std::int64_t ComputedPrompt(Engine& engine) {
  return engine.scheduler().stats().computed_prompt_tokens;
}

TEST(WholePages, ARepeatedPromptIsCachedToThePageBorderBeforeItsLastToken) {
  for (std::size_t length = 1; length <= 18; ++length) {
    Engine engine(kAmple);
    const RequestId first = engine.Submit(Prompt(1, length), 6);
    engine.Run();
    const RequestId again = engine.Submit(Prompt(1, length), 6);
    engine.Run();
    EXPECT_EQ(engine[first].usage.cached_tokens, 0);
    EXPECT_EQ(engine[again].usage.cached_tokens, CachedPart(length)) << length;
    EXPECT_EQ(engine[again].tokens, Expected(Prompt(1, length), 6).tokens);
  }
}

TEST(WholePages, EqualPromptsComputeWhatIsNotInWholePagesEachAndTheRestOnce) {
  for (const std::size_t length : {1U, 3U, 4U, 5U, 8U, 9U, 16U, 17U, 40U}) {
    Engine engine(kAmple);
    std::vector<RequestId> ids;
    for (int i = 0; i < 6; ++i) ids.push_back(engine.Submit(Prompt(1, length), 5));
    engine.Run();
    const std::int64_t each = static_cast<std::int64_t>(length) - CachedPart(length);
    EXPECT_EQ(ComputedPrompt(engine), static_cast<std::int64_t>(length) + 5 * each) << length;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      EXPECT_EQ(engine[ids[i]].tokens, Expected(Prompt(1, length), 5).tokens);
      EXPECT_EQ(engine[ids[i]].usage.cached_tokens, i == 0 ? 0 : CachedPart(length));
    }
  }
}

// For every place at which two prompts can part, within and between pages and chunks.
TEST(WholePages, RendezvousEndOnPageBorders) {
  for (std::size_t shared = 0; shared <= 36; ++shared) {
    Engine engine(kAmple);
    const std::vector<TokenId> a = Join(Prompt(1, shared), Prompt(2, 40 - shared));
    const std::vector<TokenId> b = Join(Prompt(1, shared), Prompt(3, 38 - shared));
    const RequestId first = engine.Submit(a, 3);
    const RequestId second = engine.Submit(b, 3);
    engine.Run();
    const auto common = static_cast<std::int64_t>(shared / 4 * 4);
    EXPECT_EQ(ComputedPrompt(engine), 78 - common);
    EXPECT_EQ(engine[second].usage.cached_tokens, common);
    EXPECT_EQ(engine[first].tokens, Expected(a, 3).tokens);
    EXPECT_EQ(engine[second].tokens, Expected(b, 3).tokens);
  }
}

TEST(WholePages, APromptShorterThanAPageFollowsNobody) {
  Engine engine(kAmple);
  engine.Submit(Prompt(1, 4), 3);
  engine.Submit(Prompt(1, 4), 3);
  engine.Step();
  EXPECT_EQ(engine.scheduler().stats().following, 0);
  EXPECT_EQ(engine.scheduler().stats().running, 2);
  engine.Run();
}

TEST(WholePages, APreemptedRequestComputesLessThanAPageAgain) {
  EngineOptions options = kAmple;
  options.pages = 10;
  options.max_batch_tokens = 32;
  options.headroom_tokens = 1;
  Engine engine(options);
  engine.Submit(Prompt(1, 8), 11);
  const RequestId young = engine.Submit(Prompt(2, 12), 14);
  while (engine[young].observed.preempted == 0) ASSERT_TRUE(engine.Step());
  const std::vector<TokenId> path = Join(Prompt(2, 12), engine[young].tokens);
  EXPECT_EQ(engine.Cached(path) % 4, 0);
  EXPECT_GE(engine.Cached(path), 12);
  engine.Run();
  EXPECT_EQ(engine[young].tokens, Expected(Prompt(2, 12), 14).tokens);
}

TEST(WholePages, WhoeverRunsHasAnOpenPageOfItsOwn) {
  EngineOptions options = kAmple;
  options.max_running = 3;
  Engine engine(options);
  for (int i = 0; i < 7; ++i) engine.Submit(Prompt(i, 5), 2 + i);
  std::set<std::int32_t> given;
  std::size_t most = 0;
  while (true) {
    const Batch& batch = engine.Begin();
    if (batch.empty()) break;
    most = std::max(most, batch.sequences.size());
    for (const Sequence& sequence : batch.sequences) given.insert(sequence.open_page);
    engine.End();
  }
  EXPECT_EQ(most, 3);
  EXPECT_EQ(given, (std::set<std::int32_t>{0, 1, 2}));
}

TEST(WholePages, UnderAPolicyToo) {
  for (const std::size_t prompt : {3U, 11U, 12U, 30U}) {
    Engine engine(kAmple);
    Ask ask;
    ask.prompt = Prompt(1, prompt);
    ask.max_tokens = 40;
    ask.kv_policy = KvPolicy{.sinks = 2, .window = 9};
    const RequestId first = engine.Submit(ask);
    engine.Run();
    const RequestId again = engine.Submit(ask);
    engine.Run();
    const auto seen = WindowOf(ask.kv_policy);
    const std::int64_t exact = std::min<std::int64_t>(static_cast<std::int64_t>(prompt) - 1, 11);
    EXPECT_EQ(engine[again].usage.cached_tokens, exact / 4 * 4);
    EXPECT_EQ(engine[first].tokens, Expected(ask.prompt, 40, {}, 0, seen).tokens);
    EXPECT_EQ(engine[again].tokens, engine[first].tokens);
  }
}

}  // namespace
}  // namespace banyan::scheduler
