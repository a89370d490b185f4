// The CPU kernels at the shapes of SmolLM2-135M, for who works on one of them: filters, repetitions
// and every type. `banyan bench kernels` is the report beside the machine's roofs, for everyone.
//
// Names end in the arguments; `tok/s` counts the rows of a step, `GB/s` the bytes of packed weights
// or of pages, `GMAC/s` multiply-adds.

#include <cstdlib>
#include <memory>
#include <numeric>
#include <vector>

#include "benchmark/benchmark.h"
#include "kernels/cpu/streaming_read.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

constexpr int kLayers = 30;
constexpr int kHidden = 576;
constexpr int kFeedForward = 1536;
constexpr int kVocabulary = 49152;
constexpr int kKvHeads = 3;
constexpr int kHeadDim = 64;
constexpr int kPageSize = 16;

using benchmark::Counter;

CpuBackend::Input NormalInput(Rig& rig, int rows, int cols) {
  CpuBackend::Input in = rig.backend->MakeInput(rows, cols);
  rig.backend->RmsNorm(rig.Load(RandomRows(rows, cols, 1)), rig.PackVector(Row(cols, 1.0F)), 1e-5F,
                       rows, in);
  return in;
}

void Report(benchmark::State& state, double rows, double bytes, double products) {
  state.counters["tok/s"] = Counter(rows, Counter::kIsIterationInvariantRate);
  state.counters["GB/s"] = Counter(bytes * 1e-9, Counter::kIsIterationInvariantRate);
  state.counters["GMAC/s"] = Counter(products * 1e-9, Counter::kIsIterationInvariantRate);
}

// (outputs, columns, rows, threads)
void OneProduct(benchmark::State& state, DType type) {
  const auto outputs = static_cast<int>(state.range(0));
  const auto cols = static_cast<int>(state.range(1));
  const auto rows = static_cast<int>(state.range(2));
  Rig rig(static_cast<int>(state.range(3)));
  const CpuBackend::Matrix w = rig.backend->PackMatrix(RandomMatrix(type, outputs, cols, 2).host());
  const CpuBackend::Input in = NormalInput(rig, rows, cols);
  CpuBackend::Activations out = rig.backend->MakeActivations(rows, outputs);
  for (auto _ : state) rig.backend->MatMul(w, in, rows, out);
  Report(state, rows, static_cast<double>(w.bytes()), 1.0 * outputs * cols * rows);
}
// Every type at a shape that all allow, to be set beside Q4_1.
void EachType(benchmark::State& state, DType type) { OneProduct(state, type); }
#define BANYAN_EACH_TYPE(type)                         \
  BENCHMARK_CAPTURE(EachType, type, DType::k##type)    \
      ->ArgsProduct({{1536}, {768}, {1, 4, 256}, {1}}) \
      ->UseRealTime()
BANYAN_EACH_TYPE(Q4_1);
BANYAN_EACH_TYPE(Q4_0);
BANYAN_EACH_TYPE(Q4_K);
BANYAN_EACH_TYPE(Q5_0);
BANYAN_EACH_TYPE(Q5_1);
BANYAN_EACH_TYPE(Q5_K);
BANYAN_EACH_TYPE(Q6_K);
BANYAN_EACH_TYPE(Q8_0);
BANYAN_EACH_TYPE(F16);
BANYAN_EACH_TYPE(BF16);
BANYAN_EACH_TYPE(F32);
#undef BANYAN_EACH_TYPE

// What loading costs per matrix. (outputs, columns)
void Pack(benchmark::State& state, DType type) {
  const RandomMatrix host(type, state.range(0), state.range(1), 2);
  const std::int64_t bytes =
      state.range(0) * state.range(1) / ShapeOf(type).block * ShapeOf(type).bytes;
  for (auto _ : state) {
    Rig rig;
    benchmark::DoNotOptimize(rig.backend->PackMatrix(host.host()).bytes());
  }
  Report(state, 0, static_cast<double>(bytes), 0);
}
BENCHMARK_CAPTURE(Pack, Q4_1, DType::kQ4_1)->Args({4096, 4096})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Pack, Q4_K, DType::kQ4_K)->Args({4096, 4096})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Pack, Q5_K, DType::kQ5_K)->Args({4096, 4096})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Pack, Q6_K, DType::kQ6_K)->Args({4096, 4096})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(Pack, Q8_0, DType::kQ8_0)->Args({4096, 4096})->Unit(benchmark::kMillisecond);

BENCHMARK_CAPTURE(OneProduct, Q4_1, DType::kQ4_1)
    ->ArgsProduct({{192, 576, 1536}, {kHidden}, {1, 256}, {1, 2}})
    ->ArgsProduct({{kHidden}, {kFeedForward}, {1, 256}, {1, 2}})
    ->UseRealTime();
BENCHMARK_CAPTURE(OneProduct, Q8_0, DType::kQ8_0)
    ->ArgsProduct({{kVocabulary}, {kHidden}, {1, 16}, {1, 2}})
    ->UseRealTime();

// All products of one step but the vocabulary's: weights do not fit the caches. (rows, threads)
void LinearLayers(benchmark::State& state) {
  struct Layer {
    CpuBackend::Matrix q, k, v, o, gate, up, down;
  };
  const auto rows = static_cast<int>(state.range(0));
  Rig rig(static_cast<int>(state.range(1)));
  CpuBackend& b = *rig.backend;
  std::vector<Layer> layers;
  double bytes = 0;
  double products = 0;
  const auto pack = [&](int outputs, int cols) {
    static std::uint32_t seed = 0;
    CpuBackend::Matrix w = b.PackMatrix(RandomMatrix(DType::kQ4_1, outputs, cols, ++seed).host());
    bytes += static_cast<double>(w.bytes());
    products += 1.0 * outputs * cols * rows;
    return w;
  };
  constexpr int kKv = kKvHeads * kHeadDim;
  for (int i = 0; i < kLayers; ++i)
    layers.push_back({pack(kHidden, kHidden), pack(kKv, kHidden), pack(kKv, kHidden),
                      pack(kHidden, kHidden), pack(kFeedForward, kHidden),
                      pack(kFeedForward, kHidden), pack(kHidden, kFeedForward)});
  const CpuBackend::Input narrow = NormalInput(rig, rows, kHidden);
  CpuBackend::Activations x = b.MakeActivations(rows, kHidden);
  CpuBackend::Activations q = b.MakeActivations(rows, kHidden);
  CpuBackend::Activations k = b.MakeActivations(rows, kKv);
  CpuBackend::Activations v = b.MakeActivations(rows, kKv);
  CpuBackend::Input gated = b.MakeInput(rows, kFeedForward);
  for (auto _ : state) {
    for (const Layer& layer : layers) {
      const CpuBackend::Product inputs[] = {{layer.q, &q}, {layer.k, &k}, {layer.v, &v}};
      b.MatMulEach(inputs, narrow, rows);
      b.MatMulAdd(layer.o, narrow, rows, x);
      b.MatMulGate(GateFunction::kSilu, layer.gate, layer.up, narrow, rows, gated);
      b.MatMulAdd(layer.down, gated, rows, x);
    }
  }
  Report(state, rows, bytes, products);
}
BENCHMARK(LinearLayers)
    ->ArgsProduct({{1, 2, 4, 16, 256}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Pages of all layers, so that keys and values come from where decoding finds them.
void FillPages(CpuBackend& b, int pages) {
  if (!b.AllocatePages({kLayers, kKvHeads, kHeadDim, kPageSize, pages})) std::abort();
  std::vector<std::byte> page(b.page_bytes());
  for (std::size_t i = 0; i + 1 < page.size(); i += 2) {
    page[i] = static_cast<std::byte>(i * 37);
    page[i + 1] = static_cast<std::byte>(0x38 + (i >> 4) % 4);  // 0.5 .. 4
  }
  for (int id = 0; id < pages; ++id) b.WritePage(id, page);
}

// Attention of one layer: `rows` queries that end at `context`. (context, rows, threads)
void Attention(benchmark::State& state) {
  const auto context = static_cast<int>(state.range(0));
  const auto rows = static_cast<int>(state.range(1));
  Rig rig(static_cast<int>(state.range(2)));
  CpuBackend& b = *rig.backend;
  std::vector<std::int32_t> table(context / kPageSize);
  std::iota(table.begin(), table.end(), 0);
  FillPages(b, static_cast<int>(table.size()));
  const CpuBackend::Activations q = rig.Load(RandomRows(rows, kHidden, 3));
  CpuBackend::Input out = b.MakeInput(rows, kHidden);
  const RowRun run[] = {{0, rows, context - rows, table}};
  int layer = 0;
  for (auto _ : state) {
    b.Attend(q, {.scale = 0.125F}, run, layer, out);
    layer = (layer + 1) % kLayers;
  }
  const double keys = rows * (context - 0.5 * (rows - 1));
  Report(state, rows, 4.0 * context * kKvHeads * kHeadDim, 2 * keys * kHidden);
}
BENCHMARK(Attention)
    ->ArgsProduct({{512, 4096, 8192}, {1, 256}, {1, 2}})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

// Attention of a step of all layers that decodes `requests` with `own` tokens each below `shared`
// tokens that are the same pages for all. (shared, own, requests, threads)
void SharedPrefix(benchmark::State& state) {
  const auto shared = static_cast<int>(state.range(0)) / kPageSize;
  const auto own = static_cast<int>(state.range(1)) / kPageSize;
  const auto requests = static_cast<int>(state.range(2));
  Rig rig(static_cast<int>(state.range(3)));
  CpuBackend& b = *rig.backend;
  const int pages = shared + requests * own;
  FillPages(b, pages);
  std::vector<std::vector<std::int32_t>> tables(requests);
  std::vector<RowRun> runs;
  for (int i = 0; i < requests; ++i) {
    for (int page = 0; page < shared + own; ++page)
      tables[i].push_back(page < shared ? page : page + i * own);
    runs.push_back({i, 1, (shared + own) * kPageSize - 1, tables[i]});
  }
  const CpuBackend::Activations q = rig.Load(RandomRows(requests, kHidden, 3));
  CpuBackend::Input out = b.MakeInput(requests, kHidden);
  for (auto _ : state)
    for (int layer = 0; layer < kLayers; ++layer) b.Attend(q, {.scale = 0.125F}, runs, layer, out);
  Report(state, requests, 4.0 * kLayers * pages * kPageSize * kKvHeads * kHeadDim,
         2.0 * kLayers * requests * (shared + own) * kPageSize * kHidden);
}
BENCHMARK(SharedPrefix)
    ->ArgsProduct({{1024}, {64}, {1, 8, 32}, {1, 2}})
    ->ArgsProduct({{0}, {1088}, {8}, {1, 2}})
    ->ArgsProduct({{8192}, {64}, {8}, {1, 2}})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

// Attention of one layer for a query that sees sinks and a window of keys: as long at every
// position, and hardly longer than without sinks. (window, sinks, position, threads)
void Streaming(benchmark::State& state) {
  const KeyWindow window{.window = state.range(0),
                         .sinks = static_cast<std::int32_t>(state.range(1))};
  const std::int64_t position = state.range(2);
  Rig rig(static_cast<int>(state.range(3)));
  CpuBackend& b = *rig.backend;
  const std::int64_t dropped = window.first_key(position) / kPageSize - 1;
  std::vector<std::int32_t> table(position / kPageSize + 1 - dropped);
  std::iota(table.begin(), table.end(), 0);
  FillPages(b, static_cast<int>(table.size()));
  const CpuBackend::Activations q = rig.Load(RandomRows(1, kHidden, 3));
  CpuBackend::Input out = b.MakeInput(1, kHidden);
  const RowRun run[] = {{0, 1, position, table, window, 1, dropped}};
  const Rope rope{.dims = kHeadDim};
  int layer = 0;
  for (auto _ : state) {
    b.Attend(q, {.scale = 0.125F, .rope = &rope}, run, layer, out);
    layer = (layer + 1) % kLayers;
  }
  const auto keys = static_cast<double>(window.capacity());
  Report(state, 1, 4.0 * keys * kKvHeads * kHeadDim, 2 * keys * kHidden);
}
BENCHMARK(Streaming)
    ->ArgsProduct({{1020}, {0, 4}, {10'000, 1'000'000, 1'000'000'000}, {1, 2}})
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

// The norms of a layer. (rows, threads)
void Norms(benchmark::State& state) {
  const auto rows = static_cast<int>(state.range(0));
  Rig rig(static_cast<int>(state.range(1)));
  CpuBackend& b = *rig.backend;
  const CpuBackend::Activations x = rig.Load(RandomRows(rows, kHidden, 4));
  const CpuBackend::Vector weight = rig.PackVector(Row(kHidden, 1.0F));
  CpuBackend::Input narrow = b.MakeInput(rows, kHidden);
  for (auto _ : state) {
    b.RmsNorm(x, weight, 1e-5F, rows, narrow);
    b.RmsNorm(x, weight, 1e-5F, rows, narrow);
  }
  Report(state, rows, 0, 0);
}
BENCHMARK(Norms)->ArgsProduct({{1, 256}, {1, 2}})->Unit(benchmark::kMicrosecond)->UseRealTime();

// How fast this machine reads memory that no cache holds. (threads)
void MemoryRoof(benchmark::State& state) {
  StreamingRead memory(static_cast<int>(state.range(0)), std::size_t{512} << 20);
  for (auto _ : state) memory.Run();
  state.counters["GB/s"] =
      Counter(static_cast<double>(memory.bytes()) * 1e-9, Counter::kIsIterationInvariantRate);
}
BENCHMARK(MemoryRoof)->Arg(1)->Arg(2)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace banyan::kernels::testing
