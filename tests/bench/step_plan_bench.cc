// What a step costs the host before its kernels run: who attends to what, made
// once and sent to the device, and found again by every layer. For 256
// sequences that decode, whose prompts are their own or begin alike.

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/cuda/runtime.h"
#include "kernels/cuda/staging.h"
#include "kernels/cuda/step_plan.h"
#include "kernels/kv_shape.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kSequences = 256;
constexpr int kPageSize = 16;
constexpr int kHeads = 32;
constexpr KvShape kShape{
    .layers = 32, .kv_heads = 8, .head_dim = 128, .page_size = kPageSize, .pages = 1 << 20};

// Sequences of so many tokens, of which the first `shared` are all the same.
class Decodes {
 public:
  Decodes(std::int64_t tokens, std::int64_t shared)
      : tables_(kSequences,
                std::vector<std::int32_t>(static_cast<std::size_t>(tokens / kPageSize) + 1)) {
    std::int32_t next = 0;
    for (int i = 0; i < kSequences; ++i) {
      std::vector<std::int32_t>& table = tables_[static_cast<std::size_t>(i)];
      const auto own = table.begin() + (i == 0 ? 0 : shared / kPageSize);
      std::copy(tables_[0].begin(), tables_[0].begin() + (own - table.begin()), table.begin());
      std::iota(own, table.end(), next);
      next += static_cast<std::int32_t>(table.end() - own);
      runs_.push_back({.first_row = i, .rows = 1, .first_position = tokens, .pages = table});
    }
  }
  const std::vector<RowRun>& runs() const { return runs_; }

 private:
  std::vector<std::vector<std::int32_t>> tables_;
  std::vector<RowRun> runs_;
};

void OfAStep(benchmark::State& state) {
  const Decodes decodes(state.range(0), state.range(1));
  Staging staging(nullptr);
  StepPlan plan(staging);
  for (auto _ : state) {
    plan.Store(decodes.runs(), 0);
    benchmark::DoNotOptimize(plan.Of(kShape, 0, kHeads).device);
  }
}
BENCHMARK(OfAStep)
    ->Args({512, 0})
    ->Args({4096, 0})
    ->Args({4096, 4000})
    ->Unit(benchmark::kMicrosecond);

void OfALayer(benchmark::State& state) {
  const Decodes decodes(4096, 0);
  Staging staging(nullptr);
  StepPlan plan(staging);
  std::int32_t layer = 0;
  for (auto _ : state) {
    plan.Store(decodes.runs(), layer);
    benchmark::DoNotOptimize(plan.Of(kShape, 0, kHeads).places);
    plan.Attend(decodes.runs(), layer);
    benchmark::DoNotOptimize(plan.Of(kShape, 0, kHeads).device);
    ++layer;
  }
}
BENCHMARK(OfALayer)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace banyan::kernels::cuda
