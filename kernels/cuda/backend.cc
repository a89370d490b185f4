#include "kernels/cuda/backend.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/blocks.h"
#include "kernels/cuda/choices.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/observers.h"
#include "kernels/cuda/page_bounds.h"
#include "kernels/cuda/page_memory.h"
#include "kernels/cuda/runtime.h"
#include "kernels/cuda/staging.h"
#include "kernels/cuda/step_plan.h"
#include "kernels/cuda/step_sampling.h"
#include "kernels/require.h"

namespace banyan::kernels {

using cuda::DeviceBuffer;
using cuda::NumberType;

namespace {

// Owned by the first member of a state, so that it is destroyed last.
struct OwnedStream {
  cuda::Stream stream = cuda::MakeStream();
  OwnedStream() = default;
  ~OwnedStream() { cuda::Destroy(stream); }
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
};

constexpr std::int32_t kMaxItems = 16384;  // attended to at once, as by AttentionPlan's default
// For a step's tables, and what the driver takes as it loads more of the libraries.
constexpr std::int64_t kSpareBytes = std::int64_t{128} << 20;
constexpr std::int32_t kLeastMajor = 8;  // of the compute capabilities that kernels are for

std::size_t BytesOf(std::int64_t count, std::size_t each) {
  return static_cast<std::size_t>(count) * each;
}

}  // namespace

struct CudaBackend::State {
  State(const Options& o, cuda::Device d, std::unique_ptr<cuda::Gemm> g)
      : options(o),
        device(std::move(d)),
        gemm(std::move(g)),
        staging(owned.stream),
        plan(staging),
        sampling(staging),
        bounds(staging),
        observers(staging) {}

  cuda::Stream stream() const { return owned.stream; }
  cuda::Output OutputOf(Input& in) const { return {in.data(), options.numbers}; }
  const float* TurnForSinks(const Activations& q, const Rope* rope,
                            const cuda::StepPlan::Attention& attention);
  void ChoosePages(const Activations& q, const cuda::StepPlan::Attention& attention,
                   std::int32_t layer);
  // Of the step that the plan is at.
  void BeginBounds() {
    if (bounded_step == plan.step()) return;
    bounds.Begin(plan.runs(), pages, stream());
    bounded_step = plan.step();
  }
  void GrowPartials(std::int64_t units, std::int32_t head_dim) {
    greatest.Grow(BytesOf(units, sizeof(float)));
    sums.Grow(BytesOf(units, sizeof(float)));
    values.Grow(BytesOf(units * head_dim, sizeof(float)));
  }

  OwnedStream owned;
  Options options;
  cuda::Device device;
  std::unique_ptr<cuda::Gemm> gemm;
  cuda::Staging staging;
  cuda::StepPlan plan;
  cuda::StepSampling sampling;
  std::vector<DeviceBuffer> weights;

  cuda::PageMemory pages;
  cuda::PageBounds bounds;
  std::int64_t bounded_step = 0;
  cuda::Observers observers;
  std::int64_t observed_step = 0;

  // Scratch, grown to the largest step's.
  DeviceBuffer ids;
  DeviceBuffer copies;
  DeviceBuffer gate;
  DeviceBuffer up;
  DeviceBuffer sinks_q;
  DeviceBuffer page_scores;
  DeviceBuffer greatest;
  DeviceBuffer sums;
  DeviceBuffer values;
};

std::unique_ptr<CudaBackend> CudaBackend::Create(const Options& options, std::string* why) {
  Require(options.numbers != NumberType::kF32, "weights are of 16 bits");
  std::optional<cuda::Device> device = cuda::TakeDevice(options.device, why);
  if (!device.has_value()) return nullptr;
  if (device->major < kLeastMajor) {
    *why = device->name + " has compute capability " + std::to_string(device->major) + "." +
           std::to_string(device->minor) + "; at least " + std::to_string(kLeastMajor) +
           ".0 is needed";
    return nullptr;
  }
  std::unique_ptr<cuda::Gemm> gemm = cuda::Gemm::Create(options.gemm);
  if (gemm == nullptr) {
    *why = device->name + " has no memory for cuBLASLt";
    return nullptr;
  }
  return std::unique_ptr<CudaBackend>(
      new CudaBackend(std::make_unique<State>(options, *std::move(device), std::move(gemm))));
}

CudaBackend::CudaBackend(std::unique_ptr<State> state) : state_(std::move(state)) {}
CudaBackend::~CudaBackend() = default;

std::string_view CudaBackend::variant() const { return state_->device.name; }

void CudaBackend::TakeThread() { cuda::UseDevice(state_->options.device); }

std::string CudaBackend::failure() const { return cuda::FirstError(); }

void CudaBackend::Reserve(const StepSizes& sizes) {
  State& state = *state_;
  const std::size_t gated = BytesOf(std::int64_t{sizes.rows} * sizes.feed_forward, sizeof(float));
  state.gate.Grow(gated);
  state.up.Grow(gated);
  state.ids.Grow(BytesOf(sizes.rows, sizeof(std::int32_t)));
  state.sampling.Reserve(sizes.rows, sizes.logit_rows, sizes.vocabulary);
  state.GrowPartials(std::int64_t{kMaxItems} * sizes.heads, sizes.head_dim);
  state.sinks_q.Grow(
      BytesOf(std::int64_t{sizes.rows} * sizes.heads * sizes.head_dim, sizeof(float)));
}

std::int64_t CudaBackend::FreeBytes() const {
  const auto free = static_cast<std::int64_t>(cuda::FreeBytes());
  return std::max<std::int64_t>(free - kSpareBytes, 0);
}

CudaBackend::Matrix CudaBackend::PackMatrix(const HostTensor& host) {
  constexpr std::int64_t kPartBytes = std::int64_t{64} << 20;  // of the file's blocks at once
  State& state = *state_;
  Matrix matrix;
  matrix.rows_ = host.rows;
  matrix.cols_ = host.cols;
  DeviceBuffer memory(static_cast<std::size_t>(matrix.bytes()));
  DeviceBuffer part_blocks;
  const BlockShape shape = ShapeOf(host.type);
  const std::int64_t row_bytes = host.cols / shape.block * shape.bytes;
  const std::int64_t part = std::max<std::int64_t>(1, kPartBytes / row_bytes);
  for (std::int64_t row = 0; row < host.rows; row += part) {
    const std::int64_t rows = std::min(part, host.rows - row);
    const auto* blocks = state.staging.Upload<std::byte>(
        part_blocks, {host.data + row * row_bytes, BytesOf(rows * row_bytes, 1)});
    cuda::Dequantize(state.stream(), {host.type, blocks, rows, host.cols},
                     {memory.as<std::uint16_t>() + row * host.cols, state.options.numbers});
  }
  matrix.numbers_ = memory.as<void>();
  state.weights.push_back(std::move(memory));
  return matrix;
}

CudaBackend::Vector CudaBackend::PackVector(const HostTensor& host) {
  Require(host.rows == 1, "a vector has one row");
  State& state = *state_;
  std::vector<float> floats(static_cast<std::size_t>(host.cols));
  DequantizeRow(host, 0, floats);
  Vector vector;
  vector.size_ = host.cols;
  DeviceBuffer memory;
  vector.values_ = state.staging.Upload<float>(memory, floats);
  state.weights.push_back(std::move(memory));
  return vector;
}

template <class T>
CudaBackend::Rows<T> CudaBackend::MakeRows(std::int32_t max_rows, std::int32_t cols) {
  Require(max_rows > 0 && cols > 0, "there are rows and columns");
  Rows<T> rows;
  rows.max_rows_ = max_rows;
  rows.cols_ = cols;
  rows.memory_ = DeviceBuffer(BytesOf(std::int64_t{max_rows} * cols, sizeof(T)));
  return rows;
}

CudaBackend::Activations CudaBackend::MakeActivations(std::int32_t max_rows, std::int32_t cols) {
  return MakeRows<float>(max_rows, cols);
}

CudaBackend::Input CudaBackend::MakeInput(std::int32_t max_rows, std::int32_t cols) {
  return MakeRows<std::uint16_t>(max_rows, cols);
}

void CudaBackend::Embed(const Matrix& w, std::span<const std::int32_t> ids, float factor,
                        Activations& x) {
  Require(x.cols() == w.cols() && std::ssize(ids) <= x.max_rows(), "Embed: shapes differ");
  for (const std::int32_t id : ids) Require(0 <= id && id < w.rows(), "Embed: no such row");
  State& state = *state_;
  cuda::Embed(state.stream(), {w.numbers_, state.options.numbers}, w.cols(),
              state.staging.Upload(state.ids, ids), static_cast<std::int32_t>(ids.size()), factor,
              x.data());
}

void CudaBackend::RmsNorm(const Activations& x, const Vector& weight, float eps, std::int32_t rows,
                          Input& out) {
  Require(rows <= x.max_rows() && rows <= out.max_rows(), "RmsNorm: too many rows");
  Require(x.cols() == weight.size() && x.cols() == out.cols(), "RmsNorm: shapes differ");
  cuda::RmsNorm(state_->stream(), x.data(), nullptr, weight.values_, eps, rows, x.cols(),
                state_->OutputOf(out));
}

void CudaBackend::RmsNormRows(const Activations& x, const Vector& weight, float eps,
                              std::span<const std::int32_t> rows, Input& out) {
  Require(std::ssize(rows) <= out.max_rows(), "RmsNormRows: too many rows");
  Require(x.cols() == weight.size() && x.cols() == out.cols(), "RmsNormRows: shapes differ");
  for (const std::int32_t row : rows)
    Require(0 <= row && row < x.max_rows(), "RmsNormRows: no such row");
  State& state = *state_;
  cuda::RmsNorm(state.stream(), x.data(), state.staging.Upload(state.ids, rows), weight.values_,
                eps, static_cast<std::int32_t>(rows.size()), x.cols(), state.OutputOf(out));
}

void CudaBackend::RmsNormHeads(const Vector& weight, float eps, std::int32_t rows, Activations& x) {
  Require(rows <= x.max_rows(), "RmsNormHeads: too many rows");
  Require(weight.size() > 0 && x.cols() % weight.size() == 0, "RmsNormHeads: a row is whole heads");
  cuda::RmsNormHeads(state_->stream(), weight.values_, eps, rows * (x.cols() / weight.size()),
                     static_cast<std::int32_t>(weight.size()), x.data());
}

void CudaBackend::RmsNormAdd(const Activations& in, const Vector& weight, float eps,
                             std::int32_t rows, Activations& x) {
  Require(rows <= in.max_rows() && rows <= x.max_rows(), "RmsNormAdd: too many rows");
  Require(in.cols() == weight.size() && in.cols() == x.cols(), "RmsNormAdd: shapes differ");
  cuda::RmsNormAdd(state_->stream(), in.data(), weight.values_, eps, rows, x.cols(), x.data());
}

std::int32_t CudaBackend::RowsWritten(const Input& in, std::int32_t rows) const {
  return state_->options.gemm.rows == cuda::Gemm::Rows::kFixed ? in.max_rows() : rows;
}

void CudaBackend::Multiply(const Linear& linear, const Input& in, std::int32_t rows, float* y,
                           bool adds) {
  const Matrix& w = *linear.weights;
  Require(rows <= in.max_rows() && w.cols() == in.cols(), "MatMul: shapes differ");
  Require(linear.bias == nullptr || linear.bias->size() == w.rows(), "MatMul: a bias per output");
  State& state = *state_;
  state.gemm->Multiply({.weights = {w.numbers_, state.options.numbers},
                        .x = {in.data(), state.options.numbers},
                        .y = y,
                        .bias = linear.bias == nullptr ? nullptr : linear.bias->values_,
                        .outputs = w.rows(),
                        .inputs = w.cols(),
                        .rows = rows,
                        .max_rows = in.max_rows(),
                        .adds = adds},
                       state.stream());
}

void CudaBackend::MatMul(const Linear& linear, const Input& in, std::int32_t rows,
                         Activations& out) {
  Require(RowsWritten(in, rows) <= out.max_rows() && linear.weights->rows() == out.cols(),
          "MatMul: shapes differ");
  Multiply(linear, in, rows, out.data(), false);
}

void CudaBackend::MatMulAdd(const Linear& linear, const Input& in, std::int32_t rows,
                            Activations& out) {
  Require(RowsWritten(in, rows) <= out.max_rows() && linear.weights->rows() == out.cols(),
          "MatMulAdd: shapes differ");
  Multiply(linear, in, rows, out.data(), true);
}

void CudaBackend::MatMulEach(std::span<const Product> products, const Input& in,
                             std::int32_t rows) {
  for (const Product& product : products) MatMul(product.linear, in, rows, *product.out);
}

void CudaBackend::MatMulGate(GateFunction function, const Linear& gate, const Linear& up,
                             const Input& in, std::int32_t rows, Input& out) {
  State& state = *state_;
  Require(rows <= out.max_rows() && gate.weights->rows() == out.cols() &&
              up.weights->rows() == out.cols(),
          "MatMulGate: shapes differ");
  const std::int64_t written = RowsWritten(in, rows);
  const std::size_t bytes = BytesOf(written * out.cols(), sizeof(float));
  state.gate.Grow(bytes);
  state.up.Grow(bytes);
  Multiply(gate, in, rows, state.gate.as<float>(), false);
  Multiply(up, in, rows, state.up.as<float>(), false);
  cuda::Gate(state.stream(), function, state.gate.as<float>(), state.up.as<float>(),
             std::int64_t{rows} * out.cols(), state.OutputOf(out));
}

void CudaBackend::RopeAndStore(Activations& q, Activations& k, const Activations& v,
                               const Rope& rope, std::span<const RowRun> runs, std::int32_t layer) {
  State& state = *state_;
  const KvShape& shape = state.pages.shape();
  Require(0 <= layer && layer < shape.layers, "RopeAndStore: no such layer");
  Require(k.cols() == shape.kv_heads * shape.head_dim && v.cols() == k.cols() &&
              q.cols() % shape.head_dim == 0,
          "RopeAndStore: shapes differ");
  if (runs.empty()) return;
  state.plan.Store(runs, layer);
  const float* angles = state.plan.Angles(rope, state.stream());
  const std::int32_t heads = q.cols() / shape.head_dim;
  const cuda::StepPlan::Attention& plan = state.plan.Of(shape, 0, heads);
  Require(plan.rows() <= std::min({q.max_rows(), k.max_rows(), v.max_rows()}),
          "RopeAndStore: too many rows");
  state.BeginBounds();
  state.pages.Stage(plan.host.staged);
  const cuda::KvPages& kv = state.pages.view();
  cuda::StagePages(state.stream(), plan.begun, static_cast<std::int32_t>(plan.host.begun.size()),
                   kv.open, layer);
  cuda::RopeAndStore(state.stream(),
                     {.q = q.data(),
                      .k = k.data(),
                      .v = v.data(),
                      .rows = plan.rows(),
                      .heads = heads,
                      .angles = angles,
                      .dims = rope.dims,
                      .pairs = rope.pairs,
                      .places = plan.places},
                     kv, layer);
  cuda::SealPages(state.stream(), plan.full, static_cast<std::int32_t>(plan.host.full.size()), kv,
                  layer);
}

// Queries of the rows that see sinks as these meet them; null where there are none.
const float* CudaBackend::State::TurnForSinks(const Activations& q, const Rope* rope,
                                              const cuda::StepPlan::Attention& attention) {
  if (attention.host.sink_rows.empty()) return nullptr;
  Require(rope != nullptr, "attention knows the rope where windows have sinks");
  const KvShape& shape = pages.shape();
  sinks_q.Grow(BytesOf(std::int64_t{attention.rows()} * q.cols(), sizeof(float)));
  const float* angles = plan.SinkAngles(*rope, attention, stream());
  cuda::TurnForSinks(stream(),
                     {.q = q.data(),
                      .heads = q.cols() / shape.head_dim,
                      .head_dim = shape.head_dim,
                      .format = shape.format,
                      .rows = attention.sink_rows,
                      .count = static_cast<std::int32_t>(attention.host.sink_rows.size()),
                      .angles = angles,
                      .dims = rope->dims,
                      .pairs = rope->pairs},
                     sinks_q.as<float>());
  return sinks_q.as<float>();
}

void CudaBackend::Observe(const Activations& q, const AttentionSpan& span,
                          std::span<const RowRun> runs, std::int32_t layer) {
  const auto is_observed = [](const RowRun& run) { return run.observation.is_made(); };
  if (std::ranges::none_of(runs, is_observed)) return;
  State& state = *state_;
  const KvShape& shape = state.pages.shape();
  Require(0 <= layer && layer < shape.layers, "Observe: no such layer");
  Require(q.cols() % shape.head_dim == 0, "Observe: shapes differ");
  const std::int32_t heads = q.cols() / shape.head_dim;
  const cuda::StepPlan::Attention& plan = state.plan.Of(shape, 0, heads);
  Require(plan.rows() <= q.max_rows(), "Observe: too many rows");
  if (state.observed_step != state.plan.step())
    state.observers.Begin(runs, plan.host, state.pages, state.stream());
  state.observed_step = state.plan.step();
  state.observers.Observe({.q = q.data(), .heads = heads, .scale = span.scale, .layer = layer},
                          plan.device, state.pages, state.stream());
}

void CudaBackend::Compact(std::span<const KvCompaction> compactions) {
  State& state = *state_;
  for (const KvCompaction& compaction : compactions) {
    state.observers.Compact(compaction, state.pages, state.stream());
    for (const std::int32_t page : compaction.to) state.bounds.Written(page);
  }
}

// What rows choose is written to the step's tables.
void CudaBackend::State::ChoosePages(const Activations& q,
                                     const cuda::StepPlan::Attention& attention,
                                     std::int32_t layer) {
  const cuda::AttentionPlan& host = attention.host;
  if (host.choosing.empty()) return;
  page_scores.Grow(BytesOf(host.scores, sizeof(float)));
  cuda::ChoosePages(stream(),
                    {.q = q.data(),
                     .heads = q.cols() / pages.shape().head_dim,
                     .rows = attention.choosing,
                     .count = static_cast<std::int32_t>(host.choosing.size()),
                     .most_old = host.most_old,
                     .tables = attention.tables,
                     .scores = page_scores.as<float>()},
                    bounds.Read(pages, layer, stream()), layer);
}

void CudaBackend::Attend(const Activations& q, const AttentionSpan& span,
                         std::span<const RowRun> runs, std::int32_t layer, Input& out) {
  State& state = *state_;
  const KvShape& shape = state.pages.shape();
  Require(0 <= layer && layer < shape.layers, "Attend: no such layer");
  Require(q.cols() % shape.head_dim == 0 && out.cols() == q.cols(), "Attend: shapes differ");
  if (runs.empty()) return;
  state.plan.Attend(runs, layer);
  const std::int32_t heads = q.cols() / shape.head_dim;
  const cuda::StepPlan::Attention& plan = state.plan.Of(shape, span.window, heads);
  Require(plan.rows() <= std::min(q.max_rows(), out.max_rows()), "Attend: too many rows");
  state.BeginBounds();
  state.ChoosePages(q, plan, layer);
  const cuda::Queries queries{.q = q.data(),
                              .sinks_q = state.TurnForSinks(q, span.rope, plan),
                              .heads = heads,
                              .scale = span.scale};
  for (const cuda::AttentionPart& part : plan.host.parts) {
    state.GrowPartials(std::int64_t{part.items} * heads, shape.head_dim);
    cuda::Attend(state.stream(), queries, plan.device, part, state.pages.view(), layer,
                 {state.greatest.as<float>(), state.sums.as<float>(), state.values.as<float>()},
                 state.OutputOf(out));
  }
}

void CudaBackend::ReadRow(const Activations& x, std::int32_t row, std::span<float> out) const {
  Require(0 <= row && row < x.max_rows() && std::ssize(out) == x.cols(), "ReadRow: shapes differ");
  cuda::CopyToHost(out.data(), x.data() + std::int64_t{row} * x.cols(), out.size_bytes(),
                   state_->stream());
  cuda::Synchronize(state_->stream());
}

void CudaBackend::Sample(const Activations& logits, const SamplingWork& work) {
  const auto is_row = [&](const auto& asked) {
    return 0 <= asked.row && asked.row < logits.max_rows();
  };
  Require(std::ranges::all_of(work.draws, is_row) && std::ranges::all_of(work.scores, is_row),
          "Sample: no such row");
  state_->sampling.Run(state_->stream(), {logits.data(), logits.cols()}, work);
}

Sampled CudaBackend::TakeSampled(std::int32_t draws, std::int32_t scores) {
  return state_->sampling.Take(state_->stream(), draws, scores);
}

std::int64_t CudaBackend::PageBytes(const KvShape& shape) {
  return cuda::PageMemory::ViewOf(shape).page_bytes;
}

bool CudaBackend::AllocatePages(const KvShape& shape) {
  state_->bounds.Reset();
  return state_->pages.Allocate(shape);
}

std::size_t CudaBackend::page_bytes() const { return state_->pages.page_bytes(); }

void CudaBackend::CopySlots(std::span<const SlotCopy> copies) {
  if (copies.empty()) return;
  State& state = *state_;
  const KvShape& shape = state.pages.shape();
  Require(!state.pages.seals(), "pages that are sealed are shared whole");
  for (const SlotCopy& copy : copies)
    Require(0 <= copy.from && copy.from < shape.pages && 0 <= copy.to && copy.to < shape.pages &&
                0 <= copy.slots && copy.slots <= shape.page_size,
            "CopySlots: slots of pages of the store");
  for (const SlotCopy& copy : copies) state.bounds.Written(copy.to);
  cuda::CopySlots(state.stream(), state.staging.Upload(state.copies, copies),
                  static_cast<std::int32_t>(copies.size()), state.pages.view().pages);
}

void CudaBackend::ReadPage(std::int32_t page, std::span<std::byte> out) const {
  State& state = *state_;
  Require(0 <= page && page < state.pages.shape().pages && out.size() == page_bytes(),
          "ReadPage: one page of bytes");
  cuda::CopyToHost(out.data(), state.pages.Page(page), out.size(), state.stream());
  cuda::Synchronize(state.stream());
}

void CudaBackend::WritePage(std::int32_t page, std::span<const std::byte> bytes) {
  State& state = *state_;
  Require(0 <= page && page < state.pages.shape().pages && bytes.size() == page_bytes(),
          "WritePage: one page of bytes");
  state.bounds.Written(page);
  state.staging.Upload(state.pages.Page(page), bytes.data(), bytes.size());
  cuda::Synchronize(state.stream());
}

}  // namespace banyan::kernels
