// What observers have noted (kernels/kv_compaction.h), in the device's memory, and what survives
// when their sequences are compacted.
//
// Memory: of an observer, a float for each layer, KV head and slot (8 bytes for kHistory), for as
// many slots as its sequence ever had at once; beside the pool.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "kernels/cuda/device_buffer.h"
#include "kernels/cuda/observations.h"
#include "kernels/cuda/page_memory.h"
#include "kernels/cuda/staging.h"
#include "kernels/cuda/step_plan.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {

class Observers {
 public:
  explicit Observers(Staging& staging) : staging_(staging) {}

  struct Call {
    const float* q = nullptr;  // [rows of the step, heads * head_dim]
    std::int32_t heads = 0;
    float scale = 1.0F;
    std::int32_t layer = 0;
  };
  // A step begins, whose runs these are. Throws std::bad_alloc.
  void Begin(std::span<const RowRun> runs, const AttentionPlan& plan, const PageMemory& pages,
             Stream stream);
  // Its rows that are observed note what they see; their keys are in the pages.
  void Observe(const Call& call, const AttentionWork& work, const PageMemory& pages, Stream stream);
  void Compact(const KvCompaction& compaction, const PageMemory& pages, Stream stream);

 private:
  // Of scores and shares, in floats: what is noted at once.
  static constexpr std::int64_t kMostScores = std::int64_t{1} << 24;

  struct Observer {
    SlotImportance by = SlotImportance::kSum;
    std::int64_t last = -1;  // position of the last row
    std::int64_t slots = 0;  // of which something is noted
    std::int64_t capacity = 0;
    DeviceBuffer notes;

    NotesView view() const { return {notes.as<void>(), capacity, by}; }
  };
  // Rows whose scores are there at once.
  struct Part {
    std::int32_t first_rows = 0;
    std::int32_t count = 0;
    std::int32_t first_run = 0;
    std::int32_t runs = 0;
    std::int32_t most_slots = 0;
    std::int64_t scores = 0;
    std::int64_t shares = 0;
  };

  Observer& BeginRun(const RowRun& run, std::int32_t first, const KvShape& shape, Stream stream);
  static void Grow(Observer& observer, std::int64_t slots, const KvShape& shape, Stream stream);
  void AddRows(const ObservedRows& rows, const NotedRun& run, bool begins_run, std::int32_t heads);

  Staging& staging_;
  std::vector<std::unique_ptr<Observer>> observers_;  // by number; null: never asked for
  std::vector<Part> parts_;
  std::vector<ObservedRows> rows_;
  std::vector<NotedRun> runs_;
  DeviceBuffer device_rows_, device_runs_, scores_, shares_;
  DeviceBuffer from_, to_, pooled_, survivors_;
};

}  // namespace banyan::kernels::cuda
