// Seeded random work on small pools, with faults: every answer must be the one that an engine
// without cache, batches and neighbours gives, or the beginning of it.
#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/scheduler/fixture.h"

namespace banyan::scheduler {
namespace {

enum class Faults { kNone, kMany };

class RandomWork {
 public:
  RandomWork(std::uint64_t seed, Faults faults)
      : random_(seed), faults_(faults), options_(RandomOptions()), engine_(options_) {}

  void Run() {
    while (submitted_ < kRequests) {
      for (int i = Below(3); i > 0 && submitted_ < kRequests; --i) Submit();
      Disturb();
      if (engine_.Begin().empty()) continue;
      if (Below(4) == 0) Submit();
      Disturb();
      const bool fails = faults_ == Faults::kMany && Below(40) == 0;
      fails ? engine_.EndFailed() : engine_.End();
      engine_.Advance(Tick(1000));
      if (testing::Test::HasFatalFailure()) return;
    }
    Calm();
    for (const auto& [id, answer] : engine_.answers()) CheckAnswer(id, answer);
    CheckClean();
  }

 private:
  static constexpr int kRequests = 70;

  int Below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }

  EngineOptions RandomOptions() {
    EngineOptions options;
    options.page_size = 1 + Below(6);
    options.pages = 3 + Below(60 / options.page_size);
    options.max_running = 1 + Below(6);
    options.max_batch_tokens = options.max_running + 1 + Below(12);
    if (Below(3) == 0) options.mixed_prefill_tokens = 1 + Below(8);
    options.context_length = Below(2) == 0 ? 1000 : 10 + Below(40);
    if (Below(3) == 0) options.sharing = radix::Sharing::kPages;
    return options;
  }

  // A few families of prompts, each a path through a small tree, or the next turn of an answer.
  std::vector<TokenId> RandomPrompt() {
    std::vector<TokenId> prompt;
    if (!paths_.empty() && Below(3) == 0) {
      prompt = paths_[static_cast<std::size_t>(Below(static_cast<int>(paths_.size())))];
      const auto keep = static_cast<std::size_t>(Below(static_cast<int>(prompt.size()) + 1));
      prompt.resize(keep);
    } else {
      prompt = Prompt(Below(3), static_cast<std::size_t>(Below(20)));
    }
    return Join(std::move(prompt), Prompt(Below(3), static_cast<std::size_t>(1 + Below(8))));
  }

  void Submit() {
    Ask ask;
    ask.prompt = RandomPrompt();
    ask.max_tokens = Below(10) == 0 ? 10'000 : 1 + Below(15);
    if (Below(8) == 0) ask.max_tokens = 0;
    if (Below(3) == 0) ask.end_tokens = {10, 20, 30, 40, 50, 60, 70, 80, 90};
    if (Below(3) == 0) ask.min_tokens = Below(8);
    if (Below(4) == 0) ask.score_prompt = true;
    if (Below(4) == 0) SetPolicy(ask);
    if (Below(4) == 0) ask.top_logprobs = Below(kMaxTopLogprobs + 1);
    if (Below(4) == 0) ask.logit_bias = {{Below(FakeModel::kVocabulary), 2.0F}};
    if (Below(3) == 0) ask.sampling.repetition_penalty = 1.25F;
    ask.cache_salt = Below(4) == 0 ? "other" : "";
    const bool slow = faults_ == Faults::kMany && Below(8) == 0;
    if (slow) ask.stream_capacity = static_cast<std::size_t>(1 + Below(6));
    paths_.push_back(ask.prompt);
    const RequestId id = engine_.Submit(std::move(ask));
    if (slow) engine_[id].reads = false;
    ids_.push_back(id);
    ++submitted_;
  }

  // Sometimes one that cannot be; then answers and prompts need not end with context and pool.
  void SetPolicy(Ask& ask) {
    ask.score_prompt = false;
    ask.kv_policy = KvPolicy{.sinks = Below(6), .window = 1 + Below(12)};
    ask.max_tokens = std::min<std::int64_t>(ask.max_tokens, 60);
    if (Below(3) == 0) {
      ask.prompt = Join(std::move(ask.prompt), Prompt(Below(3), static_cast<std::size_t>(60)));
    }
  }

  void Disturb() {
    if (ids_.empty()) return;
    const RequestId id = ids_[ids_.size() - 1 -
                              static_cast<std::size_t>(
                                  Below(static_cast<int>(std::min<std::size_t>(ids_.size(), 10))))];
    const Answer& answer = engine_[id];
    if (answer.finished() && answer.reason == FinishReason::kLength) {
      paths_.push_back(Join(answer.ask.prompt, answer.tokens));
    }
    if (faults_ == Faults::kNone) return;
    switch (Below(12)) {
      case 0:
        engine_.Cancel(id);
        break;
      case 1:
        engine_.StopString(id, static_cast<std::int64_t>(answer.tokens.size()));
        break;
      case 2:
        engine_.cache().Flush(
            engine_.cache().OpenNamespace(NamespaceName("", Below(4) == 0 ? "other" : "")));
        break;
      default:
        break;
    }
  }

  // No more faults: everything must come to its end, each step computing one token at least that
  // the first in order lacks: of what it lost by a preemption less than a page.
  void Calm() {
    std::int64_t bound = 1;
    for (const auto& [id, answer] : engine_.answers()) {
      bound += static_cast<std::int64_t>(answer.ask.prompt.size()) + MostOutput(answer);
      if (options_.sharing == radix::Sharing::kPages) bound += options_.page_size;
    }
    engine_.Run(static_cast<int>(bound));
    for (const RequestId id : ids_) engine_[id].reads = true;
    engine_.ReadStreams();
  }

  std::int64_t MostOutput(const Answer& answer) const {
    if (answer.ask.kv_policy) return answer.ask.max_tokens;
    const auto prompt = static_cast<std::int64_t>(answer.ask.prompt.size());
    return std::min({answer.ask.max_tokens, options_.context_length - prompt,
                     std::int64_t{options_.page_size} * options_.pages - prompt + 1});
  }

  void CheckAnswer(RequestId id, const Answer& answer) {
    SCOPED_TRACE("request " + std::to_string(static_cast<std::uint64_t>(id)));
    const auto prompt = static_cast<std::int64_t>(answer.ask.prompt.size());
    ASSERT_TRUE(answer.finished());
    EXPECT_EQ(answer.observed.finished, 1);
    EXPECT_EQ(answer.observed.reason, answer.reason);
    EXPECT_EQ(answer.usage.prompt_tokens, prompt);
    bool never_fits = prompt + 1 > std::min(options_.context_length,
                                            std::int64_t{options_.page_size} * options_.pages);
    if (answer.ask.kv_policy) {
      never_fits = !CheckPolicy({.max_batch_tokens = options_.max_batch_tokens,
                                 .context_length = options_.context_length},
                                {.page_size = options_.page_size, .pages = options_.pages},
                                *answer.ask.kv_policy)
                        .ok();
    }
    EXPECT_EQ(answer.reason == FinishReason::kRefused, never_fits);
    if (!answer.admitted) return;
    EXPECT_LT(answer.cached_tokens, prompt);
    EXPECT_EQ(answer.usage.cached_tokens, answer.cached_tokens);

    if (answer.ask.score_prompt) {
      EXPECT_EQ(answer.cached_tokens, 0);
    }

    const Oracle oracle = Expected(answer.ask.prompt, MostOutput(answer), answer.ask.end_tokens,
                                   answer.ask.min_tokens, WindowOf(answer.ask.kv_policy));
    ASSERT_LE(answer.tokens.size(), oracle.tokens.size());
    EXPECT_TRUE(std::equal(answer.tokens.begin(), answer.tokens.end(), oracle.tokens.begin()));
    EXPECT_LE(answer.usage.output_tokens, oracle.sampled);
    CheckScores(answer, !answer.tokens.empty() || answer.reason == FinishReason::kLength);
    const bool whole = answer.reason == FinishReason::kLength || faults_ == Faults::kNone;
    if (!whole) return;
    EXPECT_EQ(answer.tokens, oracle.tokens);
    EXPECT_EQ(answer.reason, oracle.reason);
    EXPECT_EQ(answer.usage.output_tokens, oracle.sampled);
  }

  // Of all that was sent; the prompt's are all there once its end was computed.
  void CheckScores(const Answer& answer, bool prompt_done) {
    const Ask& ask = answer.ask;
    const std::vector<TokenId> path = Join(ask.prompt, answer.tokens);
    ExpectSame(answer.scored_tokens,
               ExpectedScores(path, ask.prompt.size(), ask.top_logprobs, WindowOf(ask.kv_policy)));
    std::vector<ScoredToken> scores;
    if (ask.score_prompt) scores = ExpectedScores(ask.prompt, 1, ask.top_logprobs);
    if (!prompt_done) {
      ASSERT_LE(answer.prompt_scores.size(), scores.size());
      scores.resize(answer.prompt_scores.size());
    }
    ExpectSame(answer.prompt_scores, scores);
  }

  void CheckClean() {
    EXPECT_TRUE(engine_.scheduler().idle());
    const Stats stats = engine_.scheduler().stats();
    EXPECT_EQ(stats.waiting + stats.running + stats.reserved_pages, 0);
    EXPECT_EQ(engine_.scheduler().TakeLeft(), static_cast<std::size_t>(submitted_));
    EXPECT_EQ(engine_.HeldPages(), 0);
    if (faults_ == Faults::kNone) CheckWork();
    for (const auto& [id, answer] : engine_.answers()) {  // whatever is cached is right
      engine_.Cached(Join(answer.ask.prompt, answer.tokens), answer.ask.cache_salt);
    }
    for (const char* name : {"", "other"}) {
      engine_.cache().Flush(engine_.cache().OpenNamespace(NamespaceName("", name)));
    }
    EXPECT_EQ(engine_.cache().stats().pages[static_cast<int>(radix::PageState::kFree)],
              options_.pages);
  }

  // Nothing is computed twice, but what a preemption takes.
  void CheckWork() {
    std::int64_t computed = 0;
    std::int64_t of_prompts = 0;
    for (const auto& [id, answer] : engine_.answers()) {
      if (!answer.admitted) continue;
      of_prompts += answer.usage.prompt_tokens - answer.usage.cached_tokens;
      computed += std::max<std::int64_t>(answer.usage.output_tokens - 1, 0);
    }
    const Stats stats = engine_.scheduler().stats();
    EXPECT_EQ(stats.computed_prompt_tokens, of_prompts);
    EXPECT_EQ(engine_.model().computed(), of_prompts + computed + stats.recomputed_tokens);
    if (stats.preemptions == 0) {
      EXPECT_EQ(stats.recomputed_tokens, 0);
    }
  }

  std::mt19937_64 random_;
  const Faults faults_;
  const EngineOptions options_;
  Engine engine_;
  std::vector<RequestId> ids_;
  std::vector<std::vector<TokenId>> paths_;
  int submitted_ = 0;
};

void RunSeeds(std::uint64_t first, std::uint64_t count, Faults faults) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomWork(seed, faults).Run();
    if (testing::Test::HasFailure()) return;  // the first failing seed says enough
  }
}

TEST(RandomWork, WithoutFaultsEveryAnswerIsWholeAndNothingIsComputedTwice) {
  RunSeeds(1, 60, Faults::kNone);
}

TEST(RandomWork, WithCancelsFailedStepsAndSlowReadersNothingIsWrongOrLost) {
  RunSeeds(1000, 60, Faults::kMany);
}

}  // namespace
}  // namespace banyan::scheduler
