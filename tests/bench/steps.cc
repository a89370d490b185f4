// The same step of a model again and again, for a profiler to look at.
//
// usage: banyan_bench_steps MODEL.gguf prefill|decode THREADS
//
// prefill is 256 tokens of a prompt behind 256 others, decode one token behind 512. Says "ready"
// once the model is loaded and a step was done, and goes on until it is ended.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <string>
#include <vector>

#include "model/model.h"

namespace banyan::model {
namespace {

constexpr std::int32_t kChunk = 256;

int Fail(const std::string& what) {
  std::fprintf(stderr, "banyan_bench_steps: %s\n", what.c_str());
  return 1;
}

// The rows from `first` on, of a prompt that counts.
absl::Status Compute(Model& model, std::int64_t first, std::int32_t rows, Logits logits) {
  std::vector<PageId> pages(static_cast<std::size_t>(model.pages()));
  std::iota(pages.begin(), pages.end(), 0);
  std::vector<TokenId> tokens(static_cast<std::size_t>(rows));
  std::iota(tokens.begin(), tokens.end(), static_cast<TokenId>(1000 + first));
  Batch batch;
  batch.sequences.push_back({.tokens = tokens,
                             .first_position = first,
                             .pages = pages,
                             .logits = logits,
                             .sampling = {.temperature = 0},
                             .wants_logprob = false});
  StepResult result;
  return model.Forward(batch, result);
}

int Run(const std::string& path, bool decode, std::int32_t threads) {
  auto file = File::Open(path);
  if (!file.ok()) return Fail(std::string(file.status().message()));
  const auto model = Model::Load(
      *std::move(file),
      {.threads = threads, .kv_memory = std::int64_t{256} << 20, .max_batch_tokens = kChunk});
  if (!model.ok()) return Fail(std::string(model.status().message()));
  absl::Status status = Compute(**model, 0, kChunk, Logits::kNone);
  const auto step = [&] {
    return decode ? Compute(**model, 2 * kChunk, 1, Logits::kSampleLast)
                  : Compute(**model, kChunk, kChunk, Logits::kNone);
  };
  if (status.ok()) status = Compute(**model, kChunk, kChunk, Logits::kNone);
  if (status.ok()) status = step();
  std::printf("ready\n");
  std::fflush(stdout);
  while (status.ok()) status = step();
  return Fail(std::string(status.message()));
}

}  // namespace
}  // namespace banyan::model

int main(int argc, char** argv) {
  const std::string kind = argc == 4 ? argv[2] : "";
  const int threads = argc == 4 ? std::atoi(argv[3]) : 0;
  if ((kind != "prefill" && kind != "decode") || threads < 1) {
    return banyan::model::Fail("usage: MODEL.gguf prefill|decode THREADS");
  }
  return banyan::model::Run(argv[1], kind == "decode", threads);
}
