// What stands behind CpuBackend.
//
// Internal to this folder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include "kernels/cpu/arena.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/backend.h"
#include "kernels/cpu/buffer.h"
#include "kernels/cpu/greatest.h"
#include "kernels/cpu/observers.h"
#include "kernels/cpu/ops.h"
#include "kernels/cpu/page_chooser.h"
#include "kernels/cpu/page_store.h"
#include "kernels/cpu/rope_table.h"
#include "kernels/cpu/sealed_kv.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/cpu/variants.h"

namespace banyan::kernels {

// A row of a step.
struct RunRow {
  const RowRun* run = nullptr;
  std::int32_t i = 0;  // in the run
};

struct CpuBackend::State {
  State(const CpuVariant& chosen, std::int32_t threads, const std::vector<int>& processors)
      : variant(chosen),
        ops(*chosen.ops),
        bound(processors),
        pool(threads, processors),
        attention(ops, pool),
        observers(ops, pool),
        chooser(ops, pool) {}

  bool seals() const { return sealed.allocated(); }
  const KvShape& kv_shape() const { return seals() ? sealed.shape() : pages.shape(); }

  // Work on rows of fewer values than this is not worth waking the other threads.
  static constexpr std::int64_t kParallelValues = 8192;

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

  // Where reading takes so long, threads share it piece by piece; shorter runs would lose by that.
  static constexpr std::int64_t kLongBytes = std::int64_t{8} << 20;
  static constexpr std::int64_t kPieceBytes = std::int64_t{1} << 20;

  // f(thread, begin, end) for all of `n` parts of weights, of `bytes` each.
  template <class F>
  void ForWeights(std::int64_t n, std::int64_t bytes, const F& f) {
    if (n * bytes >= kLongBytes)
      return pool.ForPieces(n, std::max<std::int64_t>(1, kPieceBytes / bytes), f);
    pool.Run([&](std::int32_t t) {
      const Share share = ShareOf(n, t, pool.threads());
      if (share.begin < share.end) f(t, share.begin, share.end);
    });
  }

  // All but where the results go.
  MatMulWork WorkOf(const Linear& linear, const Input& in, std::int32_t rows) const;
  // The outputs of tiles first .. last - 1, of which `work` says where the first one goes.
  void Multiply(const Linear& linear, MatMulWork work, std::int64_t first, std::int64_t last) const;
  void MatMul(std::span<const Product> products, const Input& in, std::int32_t rows, Store store);
  // Rows of `out` are about to be written, in the forms that packed matrices read.
  void Begin(Input& out) const { out.has_floats_ = reads_floats || out.blocks_.empty(); }
  // What RopeAndStore has stored of full pages.
  void SealPages();
  // Where row i of it goes.
  RowOut OutOf(Input& out, std::int64_t i) const;

  const CpuVariant& variant;
  const Ops& ops;
  const std::vector<int> bound;  // processors of the threads; empty when they are free
  std::thread::id taken;         // who was bound to the first of them
  ThreadPool pool;
  Arena arena;
  PageStore pages;  // one of these two has been allocated, by the format
  SealedKv sealed;
  RopeTable rope;
  Attention attention;
  Observers observers;
  PageChooser chooser;
  Buffer attended;                 // float [rows, heads * head_dim]
  Buffer kept;                     // of each thread: some outputs of a product or two, for all rows
  std::vector<Greatest> greatest;  // [threads, rows]
  std::vector<RunRow> run_rows;    // of the current call
  bool reads_floats = false;       // a matrix of floats was packed
};

}  // namespace banyan::kernels
