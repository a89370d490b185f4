// How near attention comes to what a device can read and multiply: one line of JSON for each shape.
//
// usage: banyan_bench_cuda_attention full|tiny [SECONDS]
//
//   decode    a new token for each of so many sequences, behind so many keys of its own: bytes of
//             keys and values a second
//   shared    the same, where all have the same pages but for the last one
//   prefill   all tokens of a prompt at once: multiply-adds of scores and values, twice, a second
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "kernels/cuda/backend.h"

namespace banyan::kernels {
namespace {

constexpr std::int32_t kHeads = 32;
constexpr std::int32_t kKvHeads = 8;
constexpr std::int32_t kHeadDim = 128;
constexpr std::int32_t kPageSize = 16;

using Clock = std::chrono::steady_clock;

class Bench {
 public:
  Bench(CudaBackend& backend, KvFormat format, double seconds, std::int32_t rows)
      : backend_(backend),
        format_(LayoutOf(format).name),
        seconds_(seconds),
        q_(backend.MakeActivations(rows, kHeads * kHeadDim)),
        k_(backend.MakeActivations(rows, kKvHeads * kHeadDim)),
        v_(backend.MakeActivations(rows, kKvHeads * kHeadDim)),
        out_(backend.MakeInput(rows, kHeads * kHeadDim)),
        first_(static_cast<std::size_t>(kHeads * kHeadDim)) {}

  void Decode(const char* what, std::int32_t sequences, std::int32_t keys, bool shared) {
    const std::int32_t pages = keys / kPageSize;
    std::vector<std::vector<std::int32_t>> tables;
    std::vector<RowRun> runs;
    for (std::int32_t i = 0; i < sequences; ++i) {
      std::vector<std::int32_t>& table = tables.emplace_back(static_cast<std::size_t>(pages));
      std::iota(table.begin(), table.end(), shared ? 0 : i * pages);
      if (shared) table.back() = pages - 1 + i;
      runs.push_back(
          {.first_row = i, .rows = 1, .first_position = keys - 1, .pages = table, .open_page = i});
    }
    const double bytes =
        static_cast<double>(sequences) * pages * static_cast<double>(backend_.page_bytes());
    std::printf(
        "{\"what\": \"%s\", \"format\": \"%s\", \"sequences\": %d, \"keys\": %d, "
        "\"gb_per_second\": %.1f}\n",
        what, format_.c_str(), sequences, keys, bytes / Seconds(runs) / 1e9);
  }

  void Prefill(std::int32_t tokens) {
    std::vector<std::int32_t> table(static_cast<std::size_t>(tokens / kPageSize));
    std::iota(table.begin(), table.end(), 0);
    const std::vector<RowRun> runs = {{.rows = tokens, .pages = table}};
    const double flops = 4.0 * tokens * (tokens + 1) / 2 * kHeads * kHeadDim;
    std::printf(
        "{\"what\": \"prefill\", \"format\": \"%s\", \"tokens\": %d, \"tflop_per_second\": %.2f}\n",
        format_.c_str(), tokens, flops / Seconds(runs) / 1e12);
  }

 private:
  // Of one call, once what a step's first layer makes is made.
  double Seconds(const std::vector<RowRun>& runs) {
    const Rope rope{.dims = kHeadDim};
    const AttentionSpan span{.scale = 0.1F, .rope = &rope};
    backend_.RopeAndStore(q_, k_, v_, rope, runs, 0);
    backend_.Attend(q_, span, runs, 0, out_);
    backend_.ReadRow(q_, 0, first_);
    const Clock::time_point start = Clock::now();
    int calls = 0;
    double seconds = 0;
    do {
      constexpr int kAtOnce = 10;
      for (int i = 0; i < kAtOnce; ++i) backend_.Attend(q_, span, runs, 0, out_);
      backend_.ReadRow(q_, 0, first_);
      calls += kAtOnce;
      seconds = std::chrono::duration<double>(Clock::now() - start).count();
    } while (seconds < seconds_);
    return seconds / calls;
  }

  CudaBackend& backend_;
  const std::string format_;
  const double seconds_;
  CudaBackend::Activations q_, k_, v_;
  CudaBackend::Input out_;
  std::vector<float> first_;
};

struct Sizes {
  std::vector<std::int32_t> sequences;
  std::int32_t keys = 0;
  std::int32_t shared_sequences = 0;
  std::int32_t shared_keys = 0;
  std::vector<std::int32_t> prompts;
};
const Sizes kFull = {{1, 8, 64}, 4096, 64, 8192, {2048, 8192}};
const Sizes kTiny = {{1, 2}, 32, 2, 32, {16}};

int Fail(const std::string& what) {
  std::fprintf(stderr, "banyan_bench_cuda_attention: %s\n", what.c_str());
  return 1;
}

int Run(const Sizes& sizes, double seconds) {
  const std::int32_t most_keys =
      std::max(sizes.sequences.back() * sizes.keys, sizes.shared_sequences * sizes.shared_keys);
  const std::int32_t most_sequences = std::max(sizes.sequences.back(), sizes.shared_sequences);
  for (const KvFormat format : kKvFormats) {
    std::string why;
    const auto backend = CudaBackend::Create({}, &why);
    if (backend == nullptr) return Fail(why);
    const KvShape shape{.layers = 1,
                        .kv_heads = kKvHeads,
                        .head_dim = kHeadDim,
                        .page_size = kPageSize,
                        .pages = most_keys / kPageSize,
                        .format = format,
                        .open_pages = most_sequences};
    if (!backend->AllocatePages(shape)) return Fail("no memory for pages");
    Bench bench(*backend, format, seconds, std::max(sizes.prompts.back(), most_sequences));
    for (const std::int32_t sequences : sizes.sequences)
      bench.Decode("decode", sequences, sizes.keys, false);
    bench.Decode("shared", sizes.shared_sequences, sizes.shared_keys, true);
    bench.Decode("decode", sizes.shared_sequences, sizes.shared_keys, false);
    for (const std::int32_t tokens : sizes.prompts) bench.Prefill(tokens);
    if (const std::string failure = backend->failure(); !failure.empty()) return Fail(failure);
  }
  return 0;
}

int Main(const std::vector<std::string>& arguments) {
  const double seconds = arguments.size() > 1 ? std::atof(arguments[1].c_str()) : 0.5;
  if (!arguments.empty() && arguments[0] == "full") return Run(kFull, seconds);
  if (!arguments.empty() && arguments[0] == "tiny") return Run(kTiny, seconds);
  return Fail("usage: banyan_bench_cuda_attention full|tiny [SECONDS]");
}

}  // namespace
}  // namespace banyan::kernels

int main(int argc, char** argv) { return banyan::kernels::Main({argv + 1, argv + argc}); }
