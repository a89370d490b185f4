// What observers have noted (kv_compaction.h), and the attention weights that they note.
//
// The weights are computed a second time, beside attention, from the same queries and pages: a
// chain of products and sums over the dimensions in order, without fused ones: every set of
// instructions chooses the same slots. A row's notes depend on the row and the slots that it sees
// alone, and are added row after row: the bits are the same however a sequence is cut into steps,
// whatever the page size and the number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/ops.h"
#include "kernels/cpu/page_store.h"
#include "kernels/cpu/survivors.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/kv_compaction.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

class Observers {
 public:
  struct Call {
    const PageStore* pages = nullptr;
    std::int32_t layer = 0;
    std::int32_t heads = 0;
    float scale = 1.0F;  // of the scores
    std::span<const RowRun> runs;
    const float* q = nullptr;  // [rows, heads, head_dim], rows `stride` apart
    std::int64_t stride = 0;
  };

  Observers(const Ops& ops, ThreadPool& pool) : ops_(ops), pool_(pool) {}

  // Those rows of the runs that are observed; their keys are in the pages. Runs without any cost
  // nothing.
  void Observe(const Call& call);
  // One after the other.
  void Compact(PageStore& pages, std::span<const KvCompaction> compactions);

  // The memory of all notes.
  std::int64_t bytes() const;
  // How important each slot is now, all that the observer knows of.
  std::vector<float> Importance(std::int32_t observer, std::int32_t layer, std::int32_t kv_head,
                                std::int32_t history = KeepRule::kMaxHistory) const;

 private:
  // Rows of which the scores are kept at once.
  static constexpr std::int32_t kRowsTogether = 8;

  // Of one layer and KV head; one of the two is used, by slot.
  struct Notes {
    std::vector<float> sums;
    std::vector<std::uint64_t> marks;  // bit p % 64: the row at position p gave it the mean

    std::int64_t slots() const { return std::ssize(sums) + std::ssize(marks); }
    void Resize(SlotImportance by, std::int64_t slots);
    void Keep(std::span<const std::int32_t> slots);
    void ReadImportance(std::uint64_t rows, std::span<float> out) const;
  };
  struct Observer {
    SlotImportance by = SlotImportance::kSum;
    std::int64_t last = -1;    // position of the last row
    std::vector<Notes> notes;  // [layers, kv_heads]
  };
  // Rows first .. of a run, for one KV head.
  struct Task {
    const RowRun* run = nullptr;
    std::int32_t first = 0;
    std::int32_t kv_head = 0;
    Notes* notes = nullptr;
  };
  struct Scratch;  // of one thread

  void Begin(const Call& call, const RowRun& run, std::int32_t first);
  Scratch ScratchOf(std::int32_t thread, std::int32_t head_dim, std::int32_t group);
  void Weigh(const Call& call, const Task& task, const Scratch& scratch) const;
  void Score(const Call& call, const Task& task, std::int32_t first, std::int32_t rows,
             const Scratch& scratch) const;
  void Note(const Task& task, std::int32_t row, std::int32_t group, float* scores,
            const Scratch& scratch) const;
  void Compact(PageStore& pages, const KvCompaction& compaction);

  Observer* Find(std::int32_t observer) const;  // null: never asked for

  const Ops& ops_;
  ThreadPool& pool_;
  std::int32_t kv_heads_ = 0;
  std::vector<std::unique_ptr<Observer>> observers_;  // by number; null: never asked for
  std::vector<Task> tasks_;
  std::vector<Survivors> survivors_;  // of each thread
  std::int64_t width_ = 0;            // slots of a row of scores
  Buffer scratch_;
};

}  // namespace banyan::kernels
