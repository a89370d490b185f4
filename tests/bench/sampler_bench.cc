// A draw and its log-probability, at the vocabularies of SmolLM2 and Gemma 3. Time per iteration is
// what sampling adds to a step per sequence.

#include <cstdint>
#include <vector>

#include "benchmark/benchmark.h"
#include "model/log_probabilities.h"
#include "model/sampler.h"

namespace banyan::model {
namespace {

constexpr int kContext = 2000;

// Roughly normal, as a model's logits are, with a few tokens that stand out.
std::vector<float> SomeLogits(std::int64_t size) {
  std::vector<float> logits;
  std::uint64_t x = 1;
  for (std::int64_t i = 0; i < size; ++i) {
    float sum = -6;
    for (int j = 0; j < 12; ++j) {
      x = x * 6364136223846793005 + 1442695040888963407;
      sum += static_cast<float>(x >> 40) * 0x1p-24F;
    }
    logits.push_back(2.5F * sum);
  }
  for (std::int64_t i = 1; i <= 10; ++i) {
    logits[static_cast<std::size_t>(i * size / 11)] = 14 + static_cast<float>(i) / 2;
  }
  return logits;
}

void Draw(benchmark::State& state, const SamplingParams& params) {
  const std::int64_t vocabulary = state.range(0);
  const std::vector<float> logits = SomeLogits(vocabulary);
  std::vector<TokenId> context;
  for (int i = 0; i < kContext; ++i)
    context.push_back(static_cast<TokenId>(i * 7919LL % vocabulary));
  const std::vector<TokenId> token = {0};
  Sequence sequence{.tokens = token, .logits = Logits::kSampleLast, .sampling = params};
  if (params.penalizes()) sequence.context = context;
  Sampler sampler(static_cast<std::int32_t>(vocabulary));
  for (auto _ : state) {
    ++sequence.first_position;
    benchmark::DoNotOptimize(sampler.Sample(logits, sequence));
  }
}

constexpr SamplingParams kWarm{.temperature = 2};
constexpr SamplingParams kAll{.temperature = 0.8F,
                              .top_k = 50,
                              .top_p = 0.95F,
                              .min_p = 0.05F,
                              .repetition_penalty = 1.1F,
                              .presence_penalty = 0.5F,
                              .frequency_penalty = 0.5F};

void Vocabularies(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(49152)->Arg(262144)->Unit(benchmark::kMicrosecond);
}
BENCHMARK_CAPTURE(Draw, greedy, SamplingParams{.temperature = 0})->Apply(Vocabularies);
BENCHMARK_CAPTURE(Draw, plain, SamplingParams{})->Apply(Vocabularies);
BENCHMARK_CAPTURE(Draw, warm, kWarm)->Apply(Vocabularies);
BENCHMARK_CAPTURE(Draw, top_p_90, SamplingParams{.top_p = 0.9F})->Apply(Vocabularies);
BENCHMARK_CAPTURE(Draw, warm_top_p_99, SamplingParams{.temperature = 2, .top_p = 0.99F})
    ->Apply(Vocabularies);
BENCHMARK_CAPTURE(Draw, top_k_40, SamplingParams{.top_k = 40})->Apply(Vocabularies);
BENCHMARK_CAPTURE(Draw, top_k_20000, SamplingParams{.top_k = 20000})->Apply(Vocabularies);
BENCHMARK_CAPTURE(Draw, min_p_05, SamplingParams{.min_p = 0.05F})->Apply(Vocabularies);
BENCHMARK_CAPTURE(Draw, penalties, SamplingParams{.repetition_penalty = 1.1F})->Apply(Vocabularies);
BENCHMARK_CAPTURE(Draw, everything, kAll)->Apply(Vocabularies);

// (vocabulary, alternatives)
void LogProbability(benchmark::State& state) {
  const std::vector<float> logits = SomeLogits(state.range(0));
  LogProbabilities row;
  std::vector<TokenLogprob> top;
  for (auto _ : state) {
    row.Read(logits);
    row.Top(static_cast<std::int32_t>(state.range(1)), top);
    benchmark::DoNotOptimize(row.Of(7));
  }
}
BENCHMARK(LogProbability)->ArgsProduct({{49152, 262144}, {0, 20}})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace banyan::model
