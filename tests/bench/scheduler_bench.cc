// Next and Complete of one step, without a model, under a fake clock. `ns/op` is one step; p50_us,
// p99_us and max_us are of all steps that were measured. The pool is full: whatever grows evicts.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "base/check.h"
#include "benchmark/benchmark.h"
#include "tests/bench/forest.h"
#include "tests/bench/service.h"
#include "tests/bench/stopwatch.h"

namespace banyan::bench {
namespace {

using benchmark::Counter;

constexpr Tick kStep = std::chrono::milliseconds(20);
constexpr Tick kBetween = std::chrono::milliseconds(5);  // arrivals of what waits at the beginning

// What the requests of a benchmark ask.
enum class Prompts {
  kCold,  // nothing of them is cached
  kHot,   // one cached beginning of 1,024 tokens, and 64 tokens of their own
  kMix,   // 64 families with beginnings of 512 tokens; half of the prompts go on with 256 cached
          // ones, as conversations do; then 64 to 256 tokens of their own
};

class Prompter {
 public:
  explicit Prompter(Prompts prompts) : prompts_(prompts) {}

  std::vector<TokenId> Next() {
    const std::vector<TokenId> own = Text(next_++, 64 + random_() % 192);
    if (prompts_ == Prompts::kCold) return Text(next_++, 512);
    if (prompts_ == Prompts::kHot) return Joined(Family(0, 1024), own);
    std::vector<TokenId> prompt = Family(random_() % kFamilies, 512);
    if (random_() % 2 == 0) prompt = Joined(prompt, Text(kTurns + random_() % kConversations, 256));
    return Joined(prompt, own);
  }

  // Puts into the tree what the prompts have in common.
  void Cache(Service& service) {
    if (prompts_ == Prompts::kHot) service.Cache(Family(0, 1024));
    for (std::size_t i = 0; prompts_ == Prompts::kMix && i < kFamilies; ++i) {
      for (std::size_t turn = 0; turn < kConversations; ++turn) {
        service.Cache(Joined(Family(i, 512), Text(kTurns + turn, 256)));
      }
    }
  }

  std::int64_t AnswerTokens() { return 64 + static_cast<std::int64_t>(random_() % 128); }

 private:
  static constexpr std::size_t kFamilies = 64;
  static constexpr std::size_t kConversations = 8;
  static constexpr std::uint64_t kBeginnings = std::uint64_t{1} << 30;
  static constexpr std::uint64_t kTurns = std::uint64_t{1} << 31;

  static std::vector<TokenId> Family(std::size_t family, std::size_t tokens) {
    return Text(kBeginnings + family, tokens);
  }

  const Prompts prompts_;
  std::mt19937_64 random_{11};
  std::uint64_t next_ = 0;
};

// Requests of a kind: `running` of them run and `queued` more wait, and the pool is full. For each
// that ends another one comes.
class Load {
 public:
  // max_tokens 0: answers end after 64 to 191 tokens.
  Load(Prompts prompts, std::int32_t running, std::int64_t queued, std::int64_t max_tokens,
       const scheduler::Options& options)
      : prompter_(prompts),
        max_tokens_(max_tokens),
        service_(options, std::max(65'536, options.max_running * 128)) {
    prompter_.Cache(service_);
    Submit(running);
    // Where prompts take long to compute, a few are always missing.
    for (int i = 0; i < 500 && service_.scheduler().stats().running < running; ++i) {
      Step();
      Replace();
    }
    prompter_.Cache(service_);
    service_.FillPool();
    for (std::int64_t i = 0; i < queued; ++i) {
      Submit(1);
      service_.Wait(kBetween);
    }
  }

  Service& service() { return service_; }
  Prompter& prompter() { return prompter_; }

  void Submit(std::int64_t count) {
    for (; count > 0; --count) {
      service_.Submit(prompter_.Next(), max_tokens_ > 0 ? max_tokens_ : prompter_.AnswerTokens());
    }
  }
  void Replace() { Submit(static_cast<std::int64_t>(service_.finished().size())); }

  void Step() {
    CHECK(service_.Next());
    service_.Answer();
    service_.Complete();
    service_.EndStep(kStep);
  }
  void TimedStep(Stopwatch& watch) {
    const double start = ProcessorSeconds();
    CHECK(service_.Next());
    const double next = ProcessorSeconds() - start;
    service_.Answer();
    const double again = ProcessorSeconds();
    service_.Complete();
    watch.Add(1, next + ProcessorSeconds() - again);
    service_.EndStep(kStep);
  }

 private:
  Prompter prompter_;
  const std::int64_t max_tokens_;
  Service service_;
};

scheduler::Options OptionsFor(std::int32_t running) {
  return {.max_batch_tokens = running + 1024, .max_running = running, .context_length = 16'384};
}

// Requests end and others come, so that some are admitted in most steps. (running, queued)
void Serve(benchmark::State& state, Prompts prompts) {
  const auto running = static_cast<std::int32_t>(state.range(0));
  Load load(prompts, running, state.range(1), 0, OptionsFor(running));
  for (int i = 0; i < 200; ++i) {
    load.Step();
    load.Replace();
  }
  const radix::PrefixCache& cache = load.service().cache();
  double admitted = 0;
  double submitted = 0;
  double submitting = 0;
  const std::int64_t evicted = cache.stats().evicted_pages;
  Stopwatch watch(state, Stopwatch::Percentiles::kYes);
  for (auto _ : state) {
    load.TimedStep(watch);
    admitted += static_cast<double>(load.service().admitted().size());
    submitted += static_cast<double>(load.service().finished().size());
    const double start = ProcessorSeconds();
    load.Replace();
    submitting += ProcessorSeconds() - start;
  }
  const auto per_step = [](double count) { return Counter(count, Counter::kAvgIterations); };
  state.counters["admitted/step"] = per_step(admitted);
  state.counters["evicted/step"] =
      per_step(static_cast<double>(cache.stats().evicted_pages - evicted));
  state.counters["submit_us"] = 1e6 * submitting / std::max(submitted, 1.0);
}

void Sizes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t running : {16, 64, 256, 1024}) benchmark->Args({running, 4096});
  for (const std::int64_t queued : {0, 256, 16'384, 65'536}) benchmark->Args({256, queued});
  benchmark->Iterations(400)->UseManualTime();
}
BENCHMARK_CAPTURE(Serve, mix, Prompts::kMix)->Apply(Sizes);
BENCHMARK_CAPTURE(Serve, hot, Prompts::kHot)->Args({256, 4096})->Iterations(400)->UseManualTime();
BENCHMARK_CAPTURE(Serve, cold, Prompts::kCold)->Args({256, 4096})->Iterations(400)->UseManualTime();

// Nobody ends, nobody is admitted. (running, queued)
void Decode(benchmark::State& state) {
  const auto running = static_cast<std::int32_t>(state.range(0));
  Load load(Prompts::kMix, running, state.range(1), 1000, OptionsFor(running));
  Stopwatch watch(state, Stopwatch::Percentiles::kYes);
  for (auto _ : state) load.TimedStep(watch);
}
BENCHMARK(Decode)->Args({256, 4096})->Iterations(400)->UseManualTime();

// A prompt of 8,192 tokens is computed in 32 pieces while the others decode, and everybody who
// comes meanwhile needs it: they wait for it, and then are admitted, as many as may run.
// (running, followers)
void Follow(benchmark::State& state) {
  const auto running = static_cast<std::int32_t>(state.range(0));
  scheduler::Options options = OptionsFor(2 * running);
  options.max_batch_tokens = 2 * running + 1;
  Load load(Prompts::kMix, running - 1, 0, 1000, options);
  Service& service = load.service();
  const std::int64_t computed = service.scheduler().stats().computed_prompt_tokens;
  const std::vector<TokenId> document = Text(std::uint64_t{1} << 50, 8192);
  for (std::int64_t i = 0; i < state.range(1); ++i) {
    service.Submit(Joined(document, load.prompter().Next()), load.prompter().AnswerTokens());
  }
  Stopwatch watch(state, Stopwatch::Percentiles::kYes);
  for (auto _ : state) load.TimedStep(watch);
  state.counters["computed"] =
      static_cast<double>(service.scheduler().stats().computed_prompt_tokens - computed);
}
BENCHMARK(Follow)->Args({256, 256})->Args({256, 4096})->Iterations(64)->UseManualTime();

}  // namespace
}  // namespace banyan::bench
