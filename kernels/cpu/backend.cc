#include "kernels/cpu/backend.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "kernels/cpu/backend_state.h"
#include "kernels/cpu/hadamard.h"
#include "kernels/cpu/pack.h"
#include "kernels/cpu/processors.h"
#include "kernels/require.h"
#include "kernels/runs.h"

namespace banyan::kernels {
namespace {

std::int64_t RoundUp(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

Buffer MapFloats(std::int64_t count) {
  return Buffer::MapOrThrow(static_cast<std::size_t>(count) * sizeof(float));
}

void ListRows(std::span<const RowRun> runs, std::vector<RunRow>& rows) {
  rows.clear();
  for (const RowRun& run : runs)
    for (std::int32_t i = 0; i < run.rows; ++i) rows.push_back({&run, i});
}

}  // namespace

std::unique_ptr<CpuBackend> CpuBackend::Create(std::int32_t threads, std::string_view variant,
                                               Threads binding) {
  Require(1 <= threads && threads <= kMaxThreads, "threads: 1..kMaxThreads");
  const CpuVariant* found = FindCpuVariant(variant);
  if (found == nullptr) return nullptr;
  const std::vector<int> processors =
      binding == Threads::kBound ? AllowedProcessors() : std::vector<int>();
  return std::unique_ptr<CpuBackend>(
      new CpuBackend(std::make_unique<State>(*found, threads, processors)));
}

std::vector<std::string_view> CpuBackend::Variants() {
  std::vector<std::string_view> names;
  for (const CpuVariant& variant : CpuVariants())
    if (variant.runs()) names.emplace_back(variant.name);
  return names;
}

CpuBackend::CpuBackend(std::unique_ptr<State> state) : state_(std::move(state)) {}
CpuBackend::~CpuBackend() = default;

std::int32_t CpuBackend::threads() const { return state_->pool.threads(); }

std::string_view CpuBackend::variant() const { return state_->variant.name; }

void CpuBackend::TakeThread() {
  State& state = *state_;
  if (state.bound.empty() || state.taken == std::this_thread::get_id()) return;
  BindThread(state.bound.front());
  state.taken = std::this_thread::get_id();
}

CpuBackend::Matrix CpuBackend::PackMatrix(const HostTensor& host) {
  const std::int64_t tiles = TileCount(host.rows);
  Matrix matrix;
  matrix.type_ = host.type;
  matrix.rows_ = host.rows;
  matrix.cols_ = host.cols;
  matrix.bytes_ = tiles * TileBytes(host.type, host.cols);
  matrix.tiles_ = state_->arena.Allocate(static_cast<std::size_t>(matrix.bytes_));
  // By the same shares as MatMul, so that a thread's weights are first touched by that thread; the
  // caller is not the thread that will compute, so it takes its place for this long.
  std::optional<ScopedBinding> binding;
  if (!state_->bound.empty()) binding.emplace(state_->bound.front());
  state_->pool.For(tiles, [&](std::int64_t begin, std::int64_t end) {
    PackTiles(host, begin, end, matrix.tiles_);
  });
  if (ShapeOf(host.type).block == 1) state_->reads_floats = true;
  return matrix;
}

CpuBackend::Vector CpuBackend::PackVector(const HostTensor& host) {
  Require(host.rows == 1, "a vector has one row");
  Vector vector;
  vector.size_ = host.cols;
  std::byte* memory = state_->arena.Allocate(static_cast<std::size_t>(host.cols) * sizeof(float));
  vector.values_ = reinterpret_cast<float*>(memory);
  DequantizeRow(host, 0, {vector.values_, static_cast<std::size_t>(host.cols)});
  return vector;
}

CpuBackend::Activations CpuBackend::MakeActivations(std::int32_t max_rows, std::int32_t cols) {
  Require(max_rows > 0 && cols > 0, "activations have rows and columns");
  Activations x;
  x.max_rows_ = max_rows;
  x.cols_ = cols;
  x.stride_ = RoundUp(cols, 16);  // MatMul writes whole tiles
  x.memory_ = MapFloats(max_rows * x.stride_);
  return x;
}

CpuBackend::Input CpuBackend::MakeInput(std::int32_t max_rows, std::int32_t cols) {
  Require(max_rows > 0 && cols > 0, "an input has rows and columns");
  Input in;
  in.max_rows_ = max_rows;
  in.cols_ = cols;
  in.stride_ = RoundUp(cols, 16);
  in.floats_ = MapFloats(max_rows * in.stride_);
  if (cols % kQuantBlock == 0) {
    in.blocks_ =
        Buffer::MapOrThrow(static_cast<std::size_t>(max_rows) *
                           static_cast<std::size_t>(cols / kQuantBlock) * sizeof(QuantBlock));
  }
  return in;
}

RowOut CpuBackend::State::OutOf(Input& out, std::int64_t i) const {
  RowOut row = {nullptr, nullptr};
  if (!out.blocks_.empty())
    row.blocks = out.blocks_.as<QuantBlock>() + i * (out.cols_ / kQuantBlock);
  if (out.has_floats_) row.floats = out.floats_.as<float>() + i * out.stride_;
  return row;
}

void CpuBackend::Embed(const Matrix& w, std::span<const std::int32_t> ids, float factor,
                       Activations& x) {
  Require(x.cols() == w.cols() && std::ssize(ids) <= x.max_rows(), "Embed: shapes differ");
  state_->ForRows(std::ssize(ids), w.cols(), [&](std::int64_t i) {
    Require(0 <= ids[i] && ids[i] < w.rows(), "Embed: no such row");
    const std::span<float> row(x.row(i), static_cast<std::size_t>(w.cols()));
    UnpackRow(w.type_, w.tiles_, ids[i], row);
    if (factor != 1.0F)
      for (float& value : row) value *= factor;
  });
}

void CpuBackend::RmsNorm(const Activations& x, const Vector& weight, float eps, std::int32_t rows,
                         Input& out) {
  Require(rows <= x.max_rows() && rows <= out.max_rows(), "RmsNorm: too many rows");
  Require(x.cols() == weight.size() && x.cols() == out.cols(), "RmsNorm: shapes differ");
  state_->Begin(out);
  state_->ForRows(rows, x.cols(), [&](std::int64_t i) {
    state_->ops.rms_norm(x.row(i), weight.values_, eps, x.cols(), state_->OutOf(out, i));
  });
}

void CpuBackend::RmsNormRows(const Activations& x, const Vector& weight, float eps,
                             std::span<const std::int32_t> rows, Input& out) {
  Require(std::ssize(rows) <= out.max_rows(), "RmsNormRows: too many rows");
  Require(x.cols() == weight.size() && x.cols() == out.cols(), "RmsNormRows: shapes differ");
  state_->Begin(out);
  state_->ForRows(std::ssize(rows), x.cols(), [&](std::int64_t i) {
    Require(0 <= rows[i] && rows[i] < x.max_rows(), "RmsNormRows: no such row");
    state_->ops.rms_norm(x.row(rows[i]), weight.values_, eps, x.cols(), state_->OutOf(out, i));
  });
}

void CpuBackend::RmsNormHeads(const Vector& weight, float eps, std::int32_t rows, Activations& x) {
  Require(rows <= x.max_rows(), "RmsNormHeads: too many rows");
  Require(weight.size() > 0 && x.cols() % weight.size() == 0, "RmsNormHeads: a row is whole heads");
  state_->ForRows(rows, x.cols(), [&](std::int64_t i) {
    float* row = x.row(i);
    for (std::int64_t at = 0; at < x.cols(); at += weight.size())
      state_->ops.rms_norm(row + at, weight.values_, eps, weight.size(), {nullptr, row + at});
  });
}

void CpuBackend::RmsNormAdd(const Activations& in, const Vector& weight, float eps,
                            std::int32_t rows, Activations& x) {
  Require(rows <= in.max_rows() && rows <= x.max_rows(), "RmsNormAdd: too many rows");
  Require(in.cols() == weight.size() && in.cols() == x.cols(), "RmsNormAdd: shapes differ");
  state_->ForRows(rows, x.cols(), [&](std::int64_t i) {
    state_->ops.rms_norm_add(in.row(i), weight.values_, eps, x.cols(), x.row(i));
  });
}

void CpuBackend::RopeAndStore(Activations& q, Activations& k, const Activations& v,
                              const Rope& rope, std::span<const RowRun> runs, std::int32_t layer) {
  State& state = *state_;
  const KvShape& shape = state.kv_shape();
  CheckRuns(runs, std::min({q.max_rows(), k.max_rows(), v.max_rows()}), shape);
  Require(0 <= layer && layer < shape.layers, "RopeAndStore: no such layer");
  Require(k.cols() == shape.kv_heads * shape.head_dim && v.cols() == k.cols() &&
              q.cols() % shape.head_dim == 0 && rope.dims <= shape.head_dim,
          "RopeAndStore: shapes differ");
  const RopeTable::Angles& angles = state.rope.Prepare(rope, runs);
  state.chooser.Written(runs, shape.page_size, layer);
  const auto rotate =
      rope.pairs == RopePairs::kNeighbours ? state.ops.rotate_neighbours : state.ops.rotate_halves;
  ListRows(runs, state.run_rows);
  if (state.seals()) state.sealed.Begin(runs, layer);
  state.ForRows(std::ssize(state.run_rows), q.cols() + 2 * k.cols(), [&](std::int64_t i) {
    const auto [run, in_run] = state.run_rows[static_cast<std::size_t>(i)];
    const float* cos = angles.cos(i);
    const float* sin = angles.sin(i);
    float* q_row = q.row(run->first_row + in_run);
    float* k_row = k.row(run->first_row + in_run);
    const float* v_row = v.row(run->first_row + in_run);
    const auto turn = [&](float* head) {
      rotate(head, cos, sin, rope.dims);
      if (SpreadsKeys(shape.format)) Hadamard(head, shape.head_dim);
    };
    for (std::int32_t at = 0; at < q.cols(); at += shape.head_dim) turn(q_row + at);
    const std::int64_t at = run->first_slot() + in_run;
    for (std::int32_t h = 0; h < shape.kv_heads; ++h) {
      float* key = k_row + h * shape.head_dim;
      const float* value = v_row + h * shape.head_dim;
      turn(key);
      if (state.seals()) {
        const auto number = static_cast<std::size_t>(run - runs.data());
        state.sealed.Store(state.ops, key, value, number, at, h);
      } else {
        state.pages.Store(state.ops, key, value, run->page(at / shape.page_size), layer, h,
                          static_cast<std::int32_t>(at % shape.page_size));
      }
    }
  });
  if (state.seals()) state.SealPages();
}

void CpuBackend::State::SealPages() {
  const KvShape& shape = sealed.shape();
  const std::span<const SealedKv::Full> full = sealed.full();
  const std::int64_t values = std::int64_t{2} * shape.page_size * shape.head_dim;
  ForRows(std::ssize(full) * shape.kv_heads, values, [&](std::int64_t i) {
    sealed.Seal(ops, full[static_cast<std::size_t>(i / shape.kv_heads)],
                static_cast<std::int32_t>(i % shape.kv_heads));
  });
}

void CpuBackend::Attend(const Activations& q, const AttentionSpan& span,
                        std::span<const RowRun> runs, std::int32_t layer, Input& out) {
  State& state = *state_;
  const KvShape& shape = state.kv_shape();
  const std::int32_t rows = CheckRuns(runs, std::min(q.max_rows(), out.max_rows()), shape);
  Require(0 <= layer && layer < shape.layers, "Attend: no such layer");
  Require(q.cols() % shape.head_dim == 0 && out.cols() == q.cols(), "Attend: shapes differ");
  Require(span.window >= 0, "Attend: a window is a number of keys, or 0");
  for (const RowRun& run : runs) {
    Require(span.window == 0 || !run.window.is_bounded(), "Attend: layer or run has a window");
    Require(span.window == 0 || (run.compacted == 0 && !run.choice.is_made()),
            "Attend: a window is of slots at positions");
    Require(!state.seals() || !run.choice.is_made(), "Attend: sealed pages have no bounds");
  }
  if (runs.empty()) return;
  GrowFloats(state.attended, rows * q.stride_);
  const std::int32_t heads = q.cols() / shape.head_dim;
  const std::span<const RowRun> read = state.chooser.Choose({.pages = &state.pages,
                                                             .layer = layer,
                                                             .heads = heads,
                                                             .runs = runs,
                                                             .q = q.row(0),
                                                             .stride = q.stride_});
  state.attention.Run(
      {.pages = {.store = &state.pages, .sealed = state.seals() ? &state.sealed : nullptr},
       .layer = layer,
       .heads = heads,
       .span = span,
       .runs = read,
       .q = q.row(0),
       .out = state.attended.as<float>(),
       .stride = q.stride_});
  state.Begin(out);
  ListRows(runs, state.run_rows);
  state.ForRows(std::ssize(state.run_rows), q.cols(), [&](std::int64_t i) {
    const auto [run, in_run] = state.run_rows[static_cast<std::size_t>(i)];
    const std::int64_t row = run->first_row + in_run;
    state.ops.quantize(state.attended.as<float>() + row * q.stride_, q.cols(),
                       state.OutOf(out, row));
  });
}

void CpuBackend::Observe(const Activations& q, const AttentionSpan& span,
                         std::span<const RowRun> runs, std::int32_t layer) {
  const auto is_observed = [](const RowRun& run) { return run.observation.is_made(); };
  if (std::ranges::none_of(runs, is_observed)) return;
  State& state = *state_;
  Require(!state.seals(), "Observe: slots of sealed pages are not told apart");
  const KvShape& shape = state.pages.shape();
  CheckRuns(runs, q.max_rows(), shape);
  Require(0 <= layer && layer < shape.layers, "Observe: no such layer");
  Require(q.cols() % (shape.kv_heads * shape.head_dim) == 0, "Observe: shapes differ");
  for (const RowRun& run : runs)
    Require(!is_observed(run) || (span.window == 0 && !run.window.is_bounded()),
            "Observe: who is observed sees all slots");
  state.observers.Observe({.pages = &state.pages,
                           .layer = layer,
                           .heads = q.cols() / shape.head_dim,
                           .scale = span.scale,
                           .runs = runs,
                           .q = q.row(0),
                           .stride = q.stride_});
}

void CpuBackend::ReadRow(const Activations& x, std::int32_t row, std::span<float> out) const {
  Require(0 <= row && row < x.max_rows() && std::ssize(out) == x.cols(), "ReadRow: shapes differ");
  std::copy_n(x.row(row), x.cols(), out.data());
}

std::int64_t CpuBackend::PageBytes(const KvShape& shape) {
  return BytesPerToken(shape) * shape.page_size;
}

bool CpuBackend::AllocatePages(const KvShape& shape) {
  Require(state_->kv_shape().pages == 0, "pages are allocated once");
  return SealsPages(shape.format) ? state_->sealed.Allocate(shape) : state_->pages.Allocate(shape);
}

std::size_t CpuBackend::page_bytes() const {
  return state_->seals() ? state_->sealed.sealed().page_bytes() : state_->pages.page_bytes();
}

void CpuBackend::CopySlots(std::span<const SlotCopy> copies) {
  Require(copies.empty() || !state_->seals(), "pages that are sealed are shared whole");
  for (const SlotCopy& copy : copies) {
    state_->pages.CopySlots(copy);
    state_->chooser.Written(copy.to);
  }
}

void CpuBackend::Compact(std::span<const KvCompaction> compactions) {
  Require(compactions.empty() || !state_->seals(), "slots of sealed pages are not told apart");
  state_->observers.Compact(state_->pages, compactions);
  for (const KvCompaction& compaction : compactions)
    for (const std::int32_t page : compaction.to) state_->chooser.Written(page);
}

void CpuBackend::ReadPage(std::int32_t page, std::span<std::byte> out) const {
  const State& state = *state_;
  const std::span<const std::byte> bytes =
      state.seals() ? state.sealed.sealed().Page(page) : state.pages.Page(page);
  Require(out.size() == bytes.size(), "ReadPage: one page of bytes");
  std::memcpy(out.data(), bytes.data(), bytes.size());
}

void CpuBackend::WritePage(std::int32_t page, std::span<const std::byte> bytes) {
  const std::span<std::byte> to =
      state_->seals() ? state_->sealed.sealed().Page(page) : state_->pages.Page(page);
  Require(to.size() == bytes.size(), "WritePage: one page of bytes");
  std::memcpy(to.data(), bytes.data(), bytes.size());
  state_->chooser.Written(page);
}

}  // namespace banyan::kernels
