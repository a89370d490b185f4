#include "kernels/cpu/backend.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "kernels/cpu/arena.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/greatest.h"
#include "kernels/cpu/ops.h"
#include "kernels/cpu/pack.h"
#include "kernels/cpu/page_store.h"
#include "kernels/cpu/processors.h"
#include "kernels/cpu/rope_table.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/cpu/variants.h"
#include "kernels/require.h"

namespace banyan::kernels {
namespace {

// Work on rows of fewer values than this is not worth waking the other threads.
constexpr std::int64_t kParallelValues = 8192;

// Results of a product that a thread keeps until they are used: what stays in a first-level cache.
constexpr std::int64_t kKeptValues = 2048;

std::int64_t RoundUp(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

Buffer MapFloats(std::int64_t count) {
  return Buffer::MapOrThrow(static_cast<std::size_t>(count) * sizeof(float));
}

void GrowFloats(Buffer& buffer, std::int64_t count) {
  if (buffer.size() < static_cast<std::size_t>(count) * sizeof(float)) buffer = MapFloats(count);
}

// Row `i` of all that the runs have, in their order.
struct RunRow {
  const RowRun* run = nullptr;
  std::int32_t i = 0;  // in the run
};

void ListRows(std::span<const RowRun> runs, std::vector<RunRow>& rows) {
  rows.clear();
  for (const RowRun& run : runs)
    for (std::int32_t i = 0; i < run.rows; ++i) rows.push_back({&run, i});
}

}  // namespace

struct CpuBackend::State {
  State(const CpuVariant& chosen, std::int32_t threads, const std::vector<int>& processors)
      : variant(chosen),
        ops(*chosen.ops),
        bound(processors),
        pool(threads, processors),
        attention(ops, pool) {}

  // f(i) for each of `rows` rows of `values` values.
  template <class F>
  void ForRows(std::int64_t rows, std::int64_t values, const F& f) {
    const auto all = [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) f(i);
    };
    if (rows * values < kParallelValues)
      all(0, rows);
    else
      pool.For(rows, all);
  }

  Ops::MatMul Kernel(DType type) const {
    switch (type) {
      case DType::kF32:
        return ops.matmul_f32;
      case DType::kF16:
        return ops.matmul_f16;
      case DType::kBF16:
        return ops.matmul_bf16;
      case DType::kQ4_0:
        return ops.matmul_q4_0;
      case DType::kQ4_1:
        return ops.matmul_q4_1;
      case DType::kQ5_0:
        return ops.matmul_q5_0;
      case DType::kQ5_1:
        return ops.matmul_q5_1;
      case DType::kQ8_0:
        return ops.matmul_q8_0;
      case DType::kQ4_K:
        return ops.matmul_q4_k;
      case DType::kQ5_K:
        return ops.matmul_q5_k;
      case DType::kQ6_K:
        return ops.matmul_q6_k;
    }
    RequireFailed("a tensor type outside DType");
  }

  // All but where the results go.
  MatMulWork WorkOf(const Linear& linear, const Input& in, std::int32_t rows) const;
  // The outputs of tiles first .. last - 1, of which `work` says where the first one goes.
  void Multiply(const Linear& linear, MatMulWork work, std::int64_t first, std::int64_t last) const;
  void MatMul(std::span<const Product> products, const Input& in, std::int32_t rows, Store store);
  // Where row i of `out` is written, in the forms that packed matrices read.
  RowOut OutOf(Input& out, std::int64_t i) const;

  const CpuVariant& variant;
  const Ops& ops;
  const std::vector<int> bound;  // processors of the threads; empty when they are free
  std::thread::id taken;         // who was bound to the first of them
  ThreadPool pool;
  Arena arena;
  PageStore pages;
  RopeTable rope;
  Attention attention;
  Buffer attended;                 // float [rows, heads * head_dim]
  Buffer kept;                     // of each thread: some outputs of a product or two, for all rows
  std::vector<Greatest> greatest;  // [threads, rows]
  std::vector<RunRow> run_rows;    // of the current call
  bool reads_floats = false;       // a matrix of floats was packed
};

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
  out.has_floats_ = state_->reads_floats || out.blocks_.empty();
  state_->ForRows(rows, x.cols(), [&](std::int64_t i) {
    state_->ops.rms_norm(x.row(i), weight.values_, eps, x.cols(), state_->OutOf(out, i));
  });
}

void CpuBackend::RmsNormRows(const Activations& x, const Vector& weight, float eps,
                             std::span<const std::int32_t> rows, Input& out) {
  Require(std::ssize(rows) <= out.max_rows(), "RmsNormRows: too many rows");
  Require(x.cols() == weight.size() && x.cols() == out.cols(), "RmsNormRows: shapes differ");
  out.has_floats_ = state_->reads_floats || out.blocks_.empty();
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

MatMulWork CpuBackend::State::WorkOf(const Linear& linear, const Input& in,
                                     std::int32_t rows) const {
  const Matrix& w = *linear.weights;
  Require(rows <= in.max_rows(), "MatMul: too many rows");
  Require(in.cols() == w.cols(), "MatMul: shapes differ");
  Require(linear.bias == nullptr || linear.bias->size() == w.rows(), "MatMul: shapes differ");
  const std::int64_t block = ShapeOf(w.type()).block;
  Require(block != 1 || in.has_floats_, "MatMul: the input was written before floats were needed");
  return {
      .tiles = w.tiles_,
      .depth = w.cols() / block,
      .quants = in.blocks_.as<QuantBlock>(),
      .quant_stride = in.cols() / kQuantBlock,
      .floats = in.floats_.as<float>(),
      .float_stride = in.stride_,
      .rows = rows,
      .out = nullptr,
      .out_stride = 0,
      .store = Store::kSet,
  };
}

void CpuBackend::State::Multiply(const Linear& linear, MatMulWork work, std::int64_t first,
                                 std::int64_t last) const {
  const Matrix& w = *linear.weights;
  work.tiles += first * TileBytes(w.type(), w.cols());
  Kernel(w.type())(work, 0, last - first);
  if (linear.bias == nullptr) return;
  const std::int64_t output = first * kTileRows;
  const std::int64_t outputs = std::min(last * kTileRows, w.rows()) - output;
  for (std::int64_t i = 0; i < work.rows; ++i)
    ops.add(linear.bias->values_ + output, outputs, work.out + i * work.out_stride);
}

void CpuBackend::State::MatMul(std::span<const Product> products, const Input& in,
                               std::int32_t rows, Store store) {
  for (const Product& product : products) {
    Require(rows <= product.out->max_rows(), "MatMul: too many rows");
    Require(product.out->cols() == product.linear.weights->rows(), "MatMul: shapes differ");
  }
  pool.Run([&](std::int32_t thread) {
    for (const auto& [linear, out] : products) {
      const Share share = ShareOf(TileCount(linear.weights->rows()), thread, pool.threads());
      if (share.begin == share.end) continue;
      MatMulWork work = WorkOf(linear, in, rows);
      work.out = out->row(0) + share.begin * kTileRows;
      work.out_stride = out->stride_;
      work.store = store;
      Multiply(linear, work, share.begin, share.end);
    }
  });
}

void CpuBackend::MatMul(const Linear& linear, const Input& in, std::int32_t rows,
                        Activations& out) {
  const Product product = {linear, &out};
  state_->MatMul({&product, 1}, in, rows, Store::kSet);
}

void CpuBackend::MatMulAdd(const Linear& linear, const Input& in, std::int32_t rows,
                           Activations& out) {
  const Product product = {linear, &out};
  state_->MatMul({&product, 1}, in, rows, Store::kAdd);
}

void CpuBackend::MatMulEach(std::span<const Product> products, const Input& in, std::int32_t rows) {
  state_->MatMul(products, in, rows, Store::kSet);
}

// A thread takes some outputs of both matrices at a time, for all rows, and gates them while they
// are in its cache: whole blocks of the result, which are quantized by themselves.
void CpuBackend::MatMulGate(GateFunction function, const Linear& gate, const Linear& up,
                            const Input& in, std::int32_t rows, Input& out) {
  State& state = *state_;
  Require(rows <= out.max_rows(), "MatMulGate: too many rows");
  Require(gate.weights->rows() == out.cols() && up.weights->rows() == out.cols(),
          "MatMulGate: shapes differ");
  out.has_floats_ = state.reads_floats || out.blocks_.empty();
  const MatMulWork gate_work = state.WorkOf(gate, in, rows);
  const MatMulWork up_work = state.WorkOf(up, in, rows);
  const auto op = function == GateFunction::kSilu ? state.ops.gate_silu : state.ops.gate_gelu_tanh;

  constexpr std::int64_t kBlockTiles = kQuantBlock / kTileRows;
  const std::int64_t tiles = TileCount(out.cols());
  const std::int64_t blocks = RoundUp(tiles, kBlockTiles) / kBlockTiles;
  const std::int64_t group = std::max<std::int64_t>(1, kKeptValues / (rows * kQuantBlock));
  const std::int64_t values = rows * group * kQuantBlock;  // of one matrix
  const std::int32_t threads = state.pool.threads();
  GrowFloats(state.kept, 2 * values * threads);
  state.pool.Run([&](std::int32_t thread) {
    float* const gates = state.kept.as<float>() + 2 * values * thread;
    float* const ups = gates + values;
    const Share share = ShareOf(blocks, thread, threads);
    for (std::int64_t first = share.begin; first < share.end; first += group) {
      const std::int64_t last = std::min(first + group, share.end);
      const std::int64_t stride = (last - first) * kQuantBlock;
      const auto multiply = [&](const Linear& linear, MatMulWork work, float* results) {
        work.out = results;
        work.out_stride = stride;
        state.Multiply(linear, work, first * kBlockTiles, std::min(last * kBlockTiles, tiles));
      };
      multiply(gate, gate_work, gates);
      multiply(up, up_work, ups);
      const std::int64_t column = first * kQuantBlock;
      const std::int64_t cols = std::min(stride, out.cols() - column);
      for (std::int64_t i = 0; i < rows; ++i) {
        RowOut row = state.OutOf(out, i);
        if (row.blocks != nullptr) row.blocks += first;
        if (row.floats != nullptr) row.floats += column;
        op(gates + i * stride, ups + i * stride, cols, row);
      }
    }
  });
}

// A thread looks at some outputs for all rows while they are in its cache.
void CpuBackend::MatMulGreatest(const Linear& linear, const Input& in,
                                std::span<std::int32_t> out) {
  State& state = *state_;
  const auto rows = static_cast<std::int32_t>(out.size());
  if (rows == 0) return;
  const MatMulWork all = state.WorkOf(linear, in, rows);
  const std::int64_t outputs = linear.weights->rows();
  const std::int64_t group = std::max<std::int64_t>(1, kKeptValues / (rows * kTileRows));  // tiles
  const std::int64_t stride = group * kTileRows;
  const std::int32_t threads = state.pool.threads();
  GrowFloats(state.kept, rows * stride * threads);
  state.greatest.assign(static_cast<std::size_t>(threads) * out.size(), Greatest());
  state.pool.Run([&](std::int32_t thread) {
    MatMulWork work = all;
    work.out = state.kept.as<float>() + rows * stride * thread;
    work.out_stride = stride;
    Greatest* const greatest = &state.greatest[static_cast<std::size_t>(thread) * out.size()];
    const Share share = ShareOf(TileCount(outputs), thread, threads);
    for (std::int64_t first = share.begin; first < share.end; first += group) {
      const std::int64_t last = std::min(first + group, share.end);
      state.Multiply(linear, work, first, last);
      const std::int64_t output = first * kTileRows;
      const std::int64_t count = std::min(last * kTileRows, outputs) - output;
      for (std::int32_t i = 0; i < rows; ++i)
        greatest[i].Look({work.out + i * stride, static_cast<std::size_t>(count)},
                         static_cast<std::int32_t>(output));
    }
  });
  for (std::size_t i = 0; i < out.size(); ++i) {
    Greatest best;
    for (std::size_t t = 0; t < static_cast<std::size_t>(threads); ++t)
      best.Take(state.greatest[t * out.size() + i]);
    out[i] = best.at();
  }
}

namespace {

std::int32_t CheckRuns(std::span<const RowRun> runs, std::int32_t max_rows, const KvShape& shape) {
  std::int32_t end = 0;
  for (const RowRun& run : runs) {
    Require(run.rows > 0 && run.first_row >= 0 && run.first_row + run.rows <= max_rows,
            "a run's rows are rows of the step");
    Require(run.first_position >= 0, "positions start at 0");
    const std::int64_t slots = run.first_position + run.rows;
    Require(slots <= std::ssize(run.pages) * shape.page_size, "a run's page table covers its rows");
    for (const std::int32_t page :
         run.pages.first(static_cast<std::size_t>((slots + shape.page_size - 1) / shape.page_size)))
      Require(0 <= page && page < shape.pages, "a page table names pages of the store");
    end = std::max(end, run.first_row + run.rows);
  }
  return end;
}

}  // namespace

void CpuBackend::RopeAndStore(Activations& q, Activations& k, const Activations& v,
                              const Rope& rope, std::span<const RowRun> runs, std::int32_t layer) {
  State& state = *state_;
  const KvShape& shape = state.pages.shape();
  CheckRuns(runs, std::min({q.max_rows(), k.max_rows(), v.max_rows()}), shape);
  Require(0 <= layer && layer < shape.layers, "RopeAndStore: no such layer");
  Require(k.cols() == shape.kv_heads * shape.head_dim && v.cols() == k.cols() &&
              q.cols() % shape.head_dim == 0 && rope.dims <= shape.head_dim,
          "RopeAndStore: shapes differ");
  const RopeTable::Angles& angles = state.rope.Prepare(rope, runs);
  const auto rotate =
      rope.pairs == RopePairs::kNeighbours ? state.ops.rotate_neighbours : state.ops.rotate_halves;
  ListRows(runs, state.run_rows);
  state.ForRows(std::ssize(state.run_rows), q.cols() + 2 * k.cols(), [&](std::int64_t i) {
    const auto [run, in_run] = state.run_rows[static_cast<std::size_t>(i)];
    const float* cos = angles.cos(i);
    const float* sin = angles.sin(i);
    float* q_row = q.row(run->first_row + in_run);
    float* k_row = k.row(run->first_row + in_run);
    const float* v_row = v.row(run->first_row + in_run);
    for (std::int32_t at = 0; at < q.cols(); at += shape.head_dim)
      rotate(q_row + at, cos, sin, rope.dims);
    const std::int64_t position = run->first_position + in_run;
    const std::int32_t page = run->pages[static_cast<std::size_t>(position / shape.page_size)];
    const auto slot = static_cast<std::int32_t>(position % shape.page_size);
    for (std::int32_t h = 0; h < shape.kv_heads; ++h) {
      float* key = k_row + h * shape.head_dim;
      rotate(key, cos, sin, rope.dims);
      state.pages.Store(state.ops, key, v_row + h * shape.head_dim, page, layer, h, slot);
    }
  });
}

void CpuBackend::Attend(const Activations& q, const AttentionSpan& span,
                        std::span<const RowRun> runs, std::int32_t layer, Input& out) {
  State& state = *state_;
  const KvShape& shape = state.pages.shape();
  const std::int32_t rows = CheckRuns(runs, std::min(q.max_rows(), out.max_rows()), shape);
  Require(0 <= layer && layer < shape.layers, "Attend: no such layer");
  Require(q.cols() % shape.head_dim == 0 && out.cols() == q.cols(), "Attend: shapes differ");
  Require(span.window >= 0, "Attend: a window is a number of keys, or 0");
  if (runs.empty()) return;
  GrowFloats(state.attended, rows * q.stride_);
  state.attention.Run({.pages = &state.pages,
                       .layer = layer,
                       .heads = q.cols() / shape.head_dim,
                       .span = span,
                       .runs = runs,
                       .q = q.row(0),
                       .out = state.attended.as<float>(),
                       .stride = q.stride_});
  out.has_floats_ = state.reads_floats || out.blocks_.empty();
  ListRows(runs, state.run_rows);
  state.ForRows(std::ssize(state.run_rows), q.cols(), [&](std::int64_t i) {
    const auto [run, in_run] = state.run_rows[static_cast<std::size_t>(i)];
    const std::int64_t row = run->first_row + in_run;
    state.ops.quantize(state.attended.as<float>() + row * q.stride_, q.cols(),
                       state.OutOf(out, row));
  });
}

void CpuBackend::ReadRow(const Activations& x, std::int32_t row, std::span<float> out) const {
  Require(0 <= row && row < x.max_rows() && std::ssize(out) == x.cols(), "ReadRow: shapes differ");
  std::copy_n(x.row(row), x.cols(), out.data());
}

bool CpuBackend::AllocatePages(const KvShape& shape) { return state_->pages.Allocate(shape); }

std::size_t CpuBackend::page_bytes() const { return state_->pages.page_bytes(); }

void CpuBackend::CopySlots(std::span<const SlotCopy> copies) {
  for (const SlotCopy& copy : copies) state_->pages.CopySlots(copy);
}

void CpuBackend::ReadPage(std::int32_t page, std::span<std::byte> out) const {
  const std::span<const std::byte> bytes = std::as_const(state_->pages).Page(page);
  Require(out.size() == bytes.size(), "ReadPage: one page of bytes");
  std::memcpy(out.data(), bytes.data(), bytes.size());
}

void CpuBackend::WritePage(std::int32_t page, std::span<const std::byte> bytes) {
  const std::span<std::byte> to = state_->pages.Page(page);
  Require(to.size() == bytes.size(), "WritePage: one page of bytes");
  std::memcpy(to.data(), bytes.data(), bytes.size());
}

}  // namespace banyan::kernels
