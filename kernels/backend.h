// What an architecture needs of the machine: the operations of one transformer step, as a concept.
// Architectures are templates over a backend; nothing here is virtual.
//
// Batch invariance: row r of every result depends on row r of its inputs (and, for Attend, on the
// pages of r's own run up to its position) and on nothing else, bit for bit: not on the other rows,
// the number of rows, the run's borders, the page ids or the number of threads. Each reduction has
// one fixed order; activations are quantized within a row; K and V are read back from pages.
//
// A step's calls come layer after layer, from 0 on, and with the same runs, as they were when
// RopeAndStore was called for its first: a backend may look at them once.
//
// Pages of a format that seals them (SealsPages) have their bytes once they are full: so do they
// when RopeAndStore returns. A query reads its own page, that of its position, as it was stored, in
// f16, and all earlier ones sealed. What is not full yet of a view is in the run's open page.
//
// Memory: whatever allocates may throw std::bad_alloc, and leaves the backend usable.
//
// Shapes: activations are row-major [rows, cols] floats owned by the backend. `Input` is the form
// in which MatMul reads activations (quantized for quantized weights).
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "kernels/kv_compaction.h"
#include "kernels/kv_shape.h"
#include "kernels/sampling.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

template <class B>
concept Backend = requires(B& b, const B& cb, const HostTensor& host, const typename B::Matrix& w,
                           const typename B::Vector& v, typename B::Activations& x,
                           const typename B::Activations& cx, typename B::Input& in,
                           const typename B::Input& cin, std::span<const std::int32_t> ids,
                           std::span<const RowRun> runs, std::span<const SlotCopy> copies,
                           std::span<float> floats, std::span<std::byte> bytes,
                           std::span<const std::byte> const_bytes, const Rope& rope,
                           const typename B::Linear& linear,
                           std::span<const typename B::Product> products, GateFunction gate,
                           const AttentionSpan& span, float f, std::int32_t n) {
  // Weights, copied into the backend's own layout; afterwards `host` may go.
  { b.PackMatrix(host) } -> std::same_as<typename B::Matrix>;
  { b.PackVector(host) } -> std::same_as<typename B::Vector>;
  { w.bytes() } -> std::convertible_to<std::int64_t>;

  // Buffers of a capacity in rows, used by each step from row 0.
  { b.MakeActivations(n, n) } -> std::same_as<typename B::Activations>;  // (max rows, cols)
  { b.MakeInput(n, n) } -> std::same_as<typename B::Input>;              // (max rows, cols)

  // x[i] = f * row ids[i] of the embedding matrix.
  b.Embed(w, ids, f, x);  // (matrix, ids, factor, out)
  // in[i] = x[i] / sqrt(mean(x[i]^2) + eps) * v, in MatMul's form. Zhang & Sennrich, 2019.
  b.RmsNorm(cx, v, f, n, in);  // (x, weight, eps, rows, out)
  // As RmsNorm for the given rows of x only: in[i] from x[ids[i]].
  b.RmsNormRows(cx, v, f, ids, in);
  // In place: every run of v.size() values of a row (a head) normalized as by RmsNorm.
  b.RmsNormHeads(v, f, n, x);  // (weight, eps, rows, x)
  // x[i] += cx[i] / sqrt(mean(cx[i]^2) + eps) * v.
  b.RmsNormAdd(cx, v, f, n, x);  // (in, weight, eps, rows, x)
  // A Linear is a matrix with a bias or without: {W, &bias or nullptr}; y = W x + bias.
  // x[i] = y(in[i]), or x[i] += y(in[i]).
  b.MatMul(linear, cin, n, x);  // (weights, input, rows, out)
  b.MatMulAdd(linear, cin, n, x);
  // As MatMul for several that read the same input. A Product is {linear, &out}.
  b.MatMulEach(products, cin, n);  // (products, input, rows)
  // in[i] = function(g(cin[i])) * u(cin[i]), the gated half of a feed-forward layer.
  b.MatMulGate(gate, linear, linear, cin, n, in);  // (function, g, u, input, rows, out)
  // Rotates q and k in place, puts both into the basis that the pages keep keys in (SpreadsKeys),
  // and writes k and v to the pages of layer n, or its runs' open pages. A step may use two ropes
  // in turn (layers that look far and near) at the cost of each once.
  b.RopeAndStore(x, x, cx, rope, runs, n);  // (q, k, v, rope, runs, layer)
  // Causal attention of q over the pages of layer n; query head h reads KV head
  // h / (heads / kv_heads). Ainslie et al., "GQA", 2023. Keys outside the span's window, or the
  // run's with its sinks, are not read into any sum; a run's needs the rope by which q was rotated.
  // q is as RopeAndStore leaves it, and where pages are sealed the runs are those stored last.
  // Of a run that makes a choice of pages each query reads those that it chooses (page_choice.h).
  b.Attend(cx, span, runs, n, in);  // (q, span, runs, layer, out)
  // What computes: the name of a set of instructions.
  { cb.variant() } -> std::convertible_to<std::string_view>;

  // Row n of x, copied to the host.
  cb.ReadRow(cx, n, floats);

  // The calling thread is the one that computes steps from now on.
  b.TakeThread();

  // The page store. AllocatePages is called once; false when the memory cannot be had. Slots are
  // not copied of pages that are sealed.
  { B::PageBytes(KvShape{}) } -> std::same_as<std::int64_t>;  // what page_bytes() will be
  { b.AllocatePages(KvShape{}) } -> std::same_as<bool>;
  { cb.page_bytes() } -> std::convertible_to<std::size_t>;
  b.CopySlots(copies);
  cb.ReadPage(n, bytes);
  b.WritePage(n, const_bytes);
};

// A backend whose logits the host samples from.
template <class B>
concept HostSamplingBackend = Backend<B> &&
    requires(B& b, const typename B::Linear& linear, const typename B::Input& in,
             std::span<std::int32_t> outputs) {
  // outputs[i] = which value of y(in[i]) is the greatest, the first of equals; -1 where one is not
  // finite. As many rows as outputs.
  b.MatMulGreatest(linear, in, outputs);
};

// A backend that samples by itself: a step's answers are waited for once, all together.
template <class B>
concept SamplingBackend = Backend<B> && requires(B& b, const typename B::Activations& logits,
                                                 const SamplingWork& work, std::int32_t n) {
  b.Sample(logits, work);
  { b.TakeSampled(n, n) } -> std::same_as<Sampled>;  // (draws, scores): so many, from the first on
};

// A backend of which sequences may be observed and compacted (kv_compaction.h), and whose Attend
// heeds their choices of pages (page_choice.h).
template <class B>
concept CompactingBackend = Backend<B> &&
    requires(B& b, const typename B::Activations& cx, const AttentionSpan& span,
             std::span<const RowRun> runs, std::span<const KvCompaction> compactions,
             std::int32_t n) {
  // Observers note what q sees of the pages of layer n; nothing where no row is observed.
  // Behind RopeAndStore, in every layer.
  b.Observe(cx, span, runs, n);  // (q, span, runs, layer)
  b.Compact(compactions);        // in order; before the rows of a step
};

// The largest step of a model.
struct StepSizes {
  std::int32_t rows = 0;
  std::int32_t logit_rows = 0;
  std::int32_t heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t feed_forward = 0;
  std::int32_t vocabulary = 0;
};

// A backend whose device has memory of its own, and may fail. After that nothing that it computes
// is to be believed, and it does not recover. AllocatePages may be called again: the store before
// is given up.
template <class B>
concept DeviceBackend = Backend<B> && requires(B& b, const B& cb, const StepSizes& sizes) {
  { cb.failure() } -> std::same_as<std::string>;  // one line; empty while there is none
  // The memory that such a step takes beside its buffers is taken now.
  b.Reserve(sizes);
  // What pages may take beside the store that is there.
  { cb.FreeBytes() } -> std::same_as<std::int64_t>;
};

}  // namespace banyan::kernels
