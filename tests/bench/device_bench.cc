// How quick a device is with models that mean nothing, through the same calls as a server's engine:
// one line of JSON for each measurement.
//
// usage: banyan_bench_cuda SHAPE [SECONDS]        (tiny, smollm2-135m, llama3-8b)
//
//   load      seconds until the first step is done, weights' bytes
//   prefill   tokens a second of a prompt of so many, by steps of at most 2,048
//   decode    tokens a second, and milliseconds for a step, of so many sequences behind contexts of
//             so many tokens; each has pages of its own
//   cached    milliseconds to the first token of a prompt of which all but the last token is there,
//             and of one that is not
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "model/model.h"
#include "tests/bench/made_up_model.h"

namespace banyan::bench {
namespace {

constexpr std::int32_t kPageSize = 16;
constexpr std::int32_t kStepTokens = 2048;

int Fail(const std::string& what) {
  std::fprintf(stderr, "banyan_bench_cuda: %s\n", what.c_str());
  return 1;
}

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Bench {
 public:
  Bench(model::Model& model, const MadeUpShape& shape, double seconds)
      : model_(model), shape_(shape.name), most_tokens_(shape.most_tokens), seconds_(seconds) {}

  const absl::Status& status() const { return status_; }

  void Prefill(std::int32_t tokens) {
    if (!Fits(tokens)) return;
    const double time = Repeat([&] { Compute(0, tokens); });
    std::printf(
        "{\"shape\": \"%s\", \"what\": \"prefill\", \"tokens\": %d, \"per_second\": %.1f}\n",
        shape_.c_str(), tokens, tokens / time);
  }

  void Decode(std::int32_t sequences, std::int32_t context) {
    const std::int32_t pages = PagesOf(context + 1);
    if (!Fits(std::int64_t{sequences} * pages * kPageSize)) return;
    Zero(sequences * pages);
    const TokenId token[] = {1};
    std::vector<std::vector<PageId>> tables;
    Batch batch;
    for (std::int32_t i = 0; i < sequences; ++i) tables.push_back(Table(i * pages, pages));
    for (std::int32_t i = 0; i < sequences; ++i)
      batch.sequences.push_back(Ask(token, context, tables[static_cast<std::size_t>(i)], i));
    const double time = Repeat([&] { Forward(batch); });
    std::printf(
        "{\"shape\": \"%s\", \"what\": \"decode\", \"sequences\": %d, \"context\": %d, "
        "\"per_second\": %.1f, \"step_ms\": %.4f}\n",
        shape_.c_str(), sequences, context, sequences / time, time * 1e3);
  }

  void Cached(std::int32_t tokens) {
    if (!Fits(tokens)) return;
    const double uncached = Repeat([&] { Compute(0, tokens); });
    const double cached = Repeat([&] { Compute(tokens - 1, 1); });
    std::printf(
        "{\"shape\": \"%s\", \"what\": \"cached\", \"tokens\": %d, \"uncached_ms\": %.3f, "
        "\"cached_ms\": %.3f}\n",
        shape_.c_str(), tokens, uncached * 1e3, cached * 1e3);
  }

 private:
  static std::int32_t PagesOf(std::int32_t tokens) { return (tokens + kPageSize - 1) / kPageSize; }
  bool Fits(std::int64_t tokens) const {
    return status_.ok() && tokens <= most_tokens_ &&
           tokens <= std::int64_t{model_.pages()} * kPageSize;
  }
  static std::vector<PageId> Table(PageId first, std::int32_t pages) {
    std::vector<PageId> table(static_cast<std::size_t>(pages));
    std::iota(table.begin(), table.end(), first);
    return table;
  }

  // Keys and values of zeros: as quick to read as any, and finite.
  void Zero(std::int32_t pages) {
    const std::vector<std::byte> zeros(model_.page_bytes());
    for (; zeroed_ < pages; ++zeroed_) model_.WritePage(zeroed_, zeros);
  }

  static Sequence Ask(std::span<const TokenId> tokens, std::int64_t at,
                      const std::vector<PageId>& pages, std::int32_t number) {
    return {.tokens = tokens,
            .first_position = at,
            .pages = pages,
            .open_page = number,
            .logits = Logits::kSampleLast,
            .sampling = {.temperature = 0},
            .wants_logprob = false};
  }

  // Tokens at..at + count - 1 of a sequence whose earlier ones are in its pages.
  void Compute(std::int32_t at, std::int32_t count) {
    const std::vector<TokenId> tokens(static_cast<std::size_t>(kStepTokens), 1);
    const std::vector<PageId> pages = Table(0, PagesOf(at + count));
    for (std::int32_t done = 0; done < count; done += kStepTokens) {
      const auto part = static_cast<std::size_t>(std::min(kStepTokens, count - done));
      Batch batch;
      batch.sequences.push_back(Ask(std::span(tokens).first(part), at + done, pages, 0));
      if (done + kStepTokens < count) batch.sequences[0].logits = Logits::kNone;
      Forward(batch);
    }
  }

  void Forward(const Batch& batch) { status_.Update(model_.Forward(batch, result_)); }

  // The seconds that one call takes, over as many as fit; the first ones are not counted.
  template <class Call>
  double Repeat(const Call& call) {
    call();
    call();
    const Clock::time_point start = Clock::now();
    int calls = 0;
    do {
      call();
      ++calls;
    } while (status_.ok() && SecondsSince(start) < seconds_);
    return SecondsSince(start) / calls;
  }

  model::Model& model_;
  const std::string shape_;
  const std::int64_t most_tokens_;
  const double seconds_;
  absl::Status status_;
  StepResult result_;
  PageId zeroed_ = 0;
};

int Run(const MadeUpShape& shape, double seconds) {
  const Clock::time_point start = Clock::now();
  const auto model = model::Model::Load(MakeUp(shape), {.backend = model::Backend::kCuda,
                                                        .page_size = kPageSize,
                                                        .max_sequences = 256,
                                                        .max_batch_tokens = kStepTokens});
  if (!model.ok()) return Fail(std::string(model.status().message()));
  std::printf(
      "{\"shape\": \"%s\", \"what\": \"load\", \"device\": \"%s\", \"weight_bytes\": %lld, "
      "\"pages\": %d, \"seconds\": %.2f}\n",
      shape.name.c_str(), (*model)->facts().device.c_str(),
      static_cast<long long>((*model)->facts().weight_bytes), (*model)->pages(),
      SecondsSince(start));
  Bench bench(**model, shape, seconds);
  for (const std::int32_t tokens : {128, 512, 2048, 8192}) bench.Prefill(tokens);
  for (const std::int32_t sequences : {1, 8, 64, 256})
    for (const std::int32_t context : {100, 512, 4096}) bench.Decode(sequences, context);
  for (const std::int32_t tokens : {128, 1024, 8192}) bench.Cached(tokens);
  return bench.status().ok() ? 0 : Fail(std::string(bench.status().message()));
}

int Main(const std::vector<std::string>& arguments) {
  const double seconds = arguments.size() > 1 ? std::atof(arguments[1].c_str()) : 2;
  for (const MadeUpShape& shape : kMadeUpShapes)
    if (!arguments.empty() && shape.name == arguments[0]) return Run(shape, seconds);
  return Fail("usage: banyan_bench_cuda tiny|smollm2-135m|llama3-8b [SECONDS]");
}

}  // namespace
}  // namespace banyan::bench

int main(int argc, char** argv) { return banyan::bench::Main({argv + 1, argv + argc}); }
