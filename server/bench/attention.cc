// Attention over pages: what decoding and prefill ask of it.
#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "kernels/kv_shape.h"
#include "server/bench/bed.h"
#include "server/bench/gauge.h"

namespace banyan::server {
namespace {

using kernels::CpuBackend;
using kernels::RowRun;

constexpr std::int32_t kPageSize = 16;
constexpr std::int32_t kPoolTokens = 8192;
constexpr std::int32_t kBatch = 8;
constexpr std::int32_t kContext = kPoolTokens / kBatch;  // of each of them
constexpr std::int32_t kLongContext = 4000;              // the same, where formats are compared
constexpr std::int32_t kChosen = 512;                    // of them, where a policy chooses
constexpr std::int32_t kChunk = 256;                     // rows of a prefill step
constexpr std::int32_t kMaxLayers = 64;

// Pages full of numbers, and calls of Attend over them, each at the next layer.
class Pages {
 public:
  Pages(Gauge& gauge, kernels::KvFormat format, std::int32_t tokens)
      : gauge_(gauge), bed_(gauge.MakeBackend()) {
    const ModelShape& shape = gauge.shape;
    shape_ = {.layers = 1,
              .kv_heads = shape.kv_heads,
              .head_dim = shape.head_dim,
              .page_size = kPageSize,
              .pages = tokens / kPageSize,
              .format = format,
              .open_pages = kBatch};
    token_bytes_ = static_cast<double>(kernels::BytesPerToken(shape_));
    shape_.layers = std::clamp(
        static_cast<std::int32_t>(static_cast<double>(kRotationBytes) / (token_bytes_ * tokens)), 1,
        kMaxLayers);
    width_ = std::int64_t{shape.heads} * shape.head_dim;
    scale_ = 1.0F / static_cast<float>(shape.head_dim);
    queries_ = bed_.Activations(kChunk, width_);
    out_ = bed_.backend().MakeInput(kChunk, static_cast<std::int32_t>(width_));
    table_.resize(static_cast<std::size_t>(shape_.pages));
    std::iota(table_.begin(), table_.end(), 0);
  }

  bool Fill() {
    CpuBackend& backend = bed_.backend();
    if (!backend.AllocatePages(shape_)) return false;
    const std::vector<std::byte> page = AnyBytes(static_cast<std::int64_t>(backend.page_bytes()));
    for (const std::int32_t id : table_) backend.WritePage(id, page);
    return true;
  }

  std::span<const std::int32_t> table() const { return table_; }

  // Whatever is found out once of the pages that the runs name.
  void Prepare(const std::vector<RowRun>& runs) {
    for (std::int32_t layer = 0; layer < shape_.layers; ++layer)
      bed_.backend().Attend(queries_, {.scale = scale_}, runs, layer, out_);
  }

  // `tokens` are those whose keys and values a call has to read.
  void Measure(std::string name, const std::vector<RowRun>& runs, double tokens) {
    const double seconds = QuickestCall(gauge_.slice, [&](std::int64_t call) {
      bed_.backend().Attend(queries_, {.scale = scale_}, runs,
                            static_cast<std::int32_t>(call % shape_.layers), out_);
    });
    double pairs = 0;  // of a query and a key that it sees
    std::int32_t rows = 0;
    for (const RowRun& run : runs) {
      rows += run.rows;
      const double keys = static_cast<double>(run.first_position) + 0.5 * (run.rows + 1);
      const auto most = static_cast<double>(run.choice.pages * kPageSize);
      pairs += run.rows * (run.choice.is_made() ? std::min(keys, most) : keys);
    }
    const KernelWork work = {
        .memory_bytes = tokens * token_bytes_,
        .products = {{kernels::DType::kF32, 2 * pairs * static_cast<double>(width_)}}};
    gauge_.Add(KernelGroup::kAttention, std::move(name), rows, work, seconds);
  }

 private:
  Gauge& gauge_;
  Bed bed_;
  kernels::KvShape shape_;
  double token_bytes_ = 0;  // of keys and values of one layer
  std::int64_t width_ = 0;
  float scale_ = 1;
  CpuBackend::Activations queries_;
  CpuBackend::Input out_;
  std::vector<std::int32_t> table_;
};

// Decodes of so many tokens each, no page of which is another's.
std::vector<RowRun> Apart(std::span<const std::int32_t> table, std::int32_t context) {
  const auto own = static_cast<std::size_t>(context / kPageSize);
  std::vector<RowRun> runs;
  for (std::int32_t i = 0; i < kBatch; ++i)
    runs.push_back({.first_row = i,
                    .rows = 1,
                    .first_position = context - 1,
                    .pages = table.subspan(static_cast<std::size_t>(i) * own, own),
                    .open_page = i});
  return runs;
}

bool MeasureFormats(Gauge& gauge) {
  for (const kernels::KvFormat format : kernels::kKvFormats) {
    if (gauge.shape.head_dim % kernels::HeadDimUnit(format) != 0) continue;
    Pages pages(gauge, format, kBatch * kLongContext);
    if (!pages.Fill()) return false;
    pages.Measure(absl::StrFormat("decode %d at %d tokens each, %s", kBatch, kLongContext,
                                  std::string(kernels::LayoutOf(format).name)),
                  Apart(pages.table(), kLongContext), kBatch * kLongContext);
  }
  return true;
}

// Each row scores all pages by their bounds and reads some of them, in every head others.
bool MeasureChoices(Gauge& gauge) {
  Pages pages(gauge, kernels::KvFormat::kF16, kBatch * kLongContext);
  if (!pages.Fill()) return false;
  std::vector<RowRun> runs = Apart(pages.table(), kLongContext);
  for (RowRun& run : runs) run.choice = {.pages = kChosen / kPageSize};
  pages.Prepare(runs);
  pages.Measure(
      absl::StrFormat("decode %d at %d of %d tokens each, chosen", kBatch, kChosen, kLongContext),
      runs, kBatch * kChosen);
  return true;
}

}  // namespace

bool MeasureAttention(Gauge& gauge) {
  Pages pages(gauge, kernels::KvFormat::kF16, kPoolTokens);
  if (!pages.Fill()) return false;
  for (const std::int32_t context : {kContext, 8000}) {
    pages.Measure(absl::StrFormat("decode at %d tokens", context),
                  {{0, 1, context - 1, pages.table()}}, context);
  }
  // Pages of a sequence, and of one that begins with the first one's.
  constexpr std::size_t kOwn = kContext / kPageSize;
  std::vector<RowRun> shared;
  std::vector<std::vector<std::int32_t>> tables;
  for (std::int32_t i = 0; i < kBatch; ++i) {
    tables.emplace_back(pages.table().begin(), pages.table().begin() + kOwn);
    tables.back().push_back(static_cast<std::int32_t>(kOwn) + i);
  }
  for (std::int32_t i = 0; i < kBatch; ++i)
    shared.push_back({i, 1, kContext, tables[static_cast<std::size_t>(i)]});
  pages.Measure(absl::StrFormat("decode %d at %d tokens each", kBatch, kContext),
                Apart(pages.table(), kContext), kBatch * kContext);
  pages.Measure(absl::StrFormat("decode %d at %d shared tokens", kBatch, kContext), shared,
                kContext + kBatch);
  for (const std::int32_t context : {kChunk, 2048}) {
    pages.Measure(absl::StrFormat("prefill to %d tokens", context),
                  {{0, kChunk, context - kChunk, pages.table()}}, context);
  }
  return MeasureFormats(gauge) && MeasureChoices(gauge);
}

}  // namespace banyan::server
