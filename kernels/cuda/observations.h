// The kernels by which rows note what they see, and by which slots survive
// (kernels/kv_compaction.h). What a row notes is computed as on the CPU, sum by sum: the same
// queries and pages are noted alike, and the same slots survive.
#pragma once

#include <cstdint>

#include "kernels/cuda/pages.h"
#include "kernels/cuda/runtime.h"
#include "kernels/kv_compaction.h"

namespace banyan::kernels::cuda {

// Rows of a run whose scores are computed together.
struct ObservedRows {
  static constexpr std::int32_t kMost = 8;

  std::int64_t first_page = 0;   // in the tables: where the run's begins
  std::int64_t first_score = 0;  // in the scores: [rows, heads, width]
  std::int64_t first_share = 0;  // in the shares: [rows, heads]
  std::int32_t first_row = 0;    // of the step
  std::int32_t rows = 0;
  std::int32_t first_slot = 0;  // of the first row's key; the next row's is in the next one
  std::int32_t width = 0;       // floats between a score and that of the next head

  constexpr std::int32_t slots() const { return first_slot + rows; }  // that the last row sees
};

// What an observer has noted: [layers, kv_heads, capacity] floats, or 64 bits each for kHistory.
struct NotesView {
  void* notes = nullptr;
  std::int64_t capacity = 0;
  SlotImportance by = SlotImportance::kSum;

  template <class T>
  constexpr T* Of(std::int64_t layer, std::int32_t kv_heads, std::int64_t kv_head) const {
    return static_cast<T*>(notes) + (layer * kv_heads + kv_head) * capacity;
  }
};

// Rows of a run that are noted, one after the other.
struct NotedRun {
  NotesView notes{};
  std::int32_t first_rows = 0;  // in ObserveStep::rows
  std::int32_t count = 0;
  std::int32_t known = 0;           // slots of which something was noted before; of others nothing
  std::int64_t first_position = 0;  // of the first row
};

struct ObserveStep {
  const float* q = nullptr;  // [rows of the step, heads * head_dim], as RopeAndStore leaves them
  std::int32_t heads = 0;
  float scale = 1.0F;                    // of the scores
  const std::int32_t* tables = nullptr;  // page ids
  const ObservedRows* rows = nullptr;    // `count` of them
  const NotedRun* runs = nullptr;        // `run_count`
  std::int32_t count = 0;
  std::int32_t run_count = 0;
  std::int32_t most_slots = 0;  // of any rows
  float* scores = nullptr;      // scratch
  float* shares = nullptr;      // scratch
};
void Observe(Stream stream, const ObserveStep& step, const PageView& pages, std::int32_t layer);

struct CompactionStep {
  const std::int32_t* from = nullptr;  // page tables
  const std::int32_t* to = nullptr;
  std::int32_t slots = 0;
  KeepRule keep;
  NotesView notes{};
  std::uint64_t rows = 0;             // of kHistory: the bits of those that count
  float* pooled = nullptr;            // scratch, [layers, kv_heads, slots]
  std::int32_t* survivors = nullptr;  // [layers, kv_heads, kept]
};
// Which slots survive; and then these to where they are kept, with what is noted of them.
void ListSurvivors(Stream stream, const CompactionStep& step, const PageView& pages);
void MoveSurvivors(Stream stream, const CompactionStep& step, const PageView& pages);

}  // namespace banyan::kernels::cuda
