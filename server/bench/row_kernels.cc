// What is done to each row by itself. Its rows are where the kernel before it left them, so that
// caches bound it; only the rows of the embedding come from memory.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "server/bench/bed.h"
#include "server/bench/gauge.h"

namespace banyan::server {
namespace {

using kernels::CpuBackend;
using kernels::DType;
using kernels::RowRun;

constexpr std::int32_t kChunk = 256;
constexpr std::int32_t kPageSize = 16;
constexpr double kFloat = 4;
constexpr double kHalf = 2;
// Of a value of an input: a byte, and its part of what a block of 32 keeps besides.
constexpr double kQuant = 48.0 / 32;

class RowKernels {
 public:
  explicit RowKernels(Gauge& gauge) : gauge_(gauge), bed_(gauge.MakeBackend()) {}

  // `work` is that of a row.
  void Measure(const std::string& name, KernelWork work,
               const std::function<void(std::int32_t rows, std::int64_t call)>& run) {
    for (const std::int32_t rows : {1, kChunk}) {
      const double seconds =
          QuickestCall(gauge_.slice, [&](std::int64_t call) { run(rows, call); });
      KernelWork all = work;
      all.cache_bytes *= rows;
      all.memory_bytes *= rows;
      gauge_.Add(KernelGroup::kRows, name, rows, all, seconds);
    }
  }

  void Embed() {
    const ModelShape& shape = gauge_.shape;
    const kernels::BlockShape block = kernels::ShapeOf(shape.embedding_type);
    const auto cols = static_cast<double>(shape.embedding);
    const CpuBackend::Matrix w =
        bed_.Weights(shape.embedding_type, shape.vocabulary, shape.embedding);
    CpuBackend::Activations x =
        bed_.backend().MakeActivations(kChunk, static_cast<std::int32_t>(shape.embedding));
    std::vector<std::int32_t> ids(kChunk);
    Measure(
        "embed",
        {.memory_bytes = cols * static_cast<double>(block.bytes) / static_cast<double>(block.block),
         .cache_bytes = kFloat * cols},
        [&](std::int32_t rows, std::int64_t call) {
          for (std::int32_t i = 0; i < rows; ++i) {
            ids[static_cast<std::size_t>(i)] =
                static_cast<std::int32_t>((call * rows + i) * 7919 % shape.vocabulary);
          }
          bed_.backend().Embed(w, std::span(ids).first(static_cast<std::size_t>(rows)), 1.0F, x);
        });
  }

  void Norm() {
    const ModelShape& shape = gauge_.shape;
    const auto width = static_cast<double>(shape.embedding);
    const CpuBackend::Activations x = bed_.Activations(kChunk, shape.embedding);
    const CpuBackend::Vector norm = bed_.Norm(shape.embedding);
    CpuBackend::Input narrow = bed_.Input(kChunk, shape.embedding);
    Measure("rms norm", {.cache_bytes = (kFloat + kQuant) * width},
            [&](std::int32_t rows, std::int64_t) {
              bed_.backend().RmsNorm(x, norm, 1e-5F, rows, narrow);
            });
  }

  bool RopeAndStore() {
    const ModelShape& shape = gauge_.shape;
    const std::int64_t q_cols = std::int64_t{shape.heads} * shape.head_dim;
    const std::int64_t kv_cols = std::int64_t{shape.kv_heads} * shape.head_dim;
    constexpr std::int32_t kPages = kChunk / kPageSize;
    if (!bed_.backend().AllocatePages({1, shape.kv_heads, shape.head_dim, kPageSize, kPages}))
      return false;
    CpuBackend::Activations q = bed_.Activations(kChunk, q_cols);
    CpuBackend::Activations k = bed_.Activations(kChunk, kv_cols);
    const CpuBackend::Activations v = bed_.Activations(kChunk, kv_cols);
    std::vector<std::int32_t> table;
    for (std::int32_t i = 0; i < kPages; ++i) table.push_back(i);
    // q and k are turned where they are; k and v are written to pages.
    const double bytes = 2 * kFloat * static_cast<double>(q_cols) +
                         (3 * kFloat + 2 * kHalf) * static_cast<double>(kv_cols);
    Measure("rope and page write", {.cache_bytes = bytes}, [&](std::int32_t rows, std::int64_t) {
      const RowRun run[] = {{0, rows, 0, table}};
      bed_.backend().RopeAndStore(q, k, v, {.dims = shape.head_dim}, run, /*layer=*/0);
    });
    return true;
  }

 private:
  Gauge& gauge_;
  Bed bed_;
};

}  // namespace

bool MeasureRowKernels(Gauge& gauge) {
  RowKernels kernels(gauge);
  kernels.Embed();
  kernels.Norm();
  return kernels.RopeAndStore();
}

}  // namespace banyan::server
