#include "kernels/cpu/observers.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/cpu/key_floats.h"
#include "kernels/require.h"
#include "kernels/runs.h"

namespace banyan::kernels {

// Rows of floats.
struct Observers::Scratch {
  float* tile;           // [head_dim, kTileKeys]
  float* scores;         // [kRowsTogether, group, width]
  float* probabilities;  // [width]
  std::int64_t width;
};

void Observers::Notes::Resize(SlotImportance by, std::int64_t slots) {
  const auto size = static_cast<std::size_t>(slots);
  sums.resize(by == SlotImportance::kSum ? size : 0);
  marks.resize(by == SlotImportance::kHistory ? size : 0);
}

// Gives back the memory of the others, where it can.
void Observers::Notes::Keep(std::span<const std::int32_t> slots) {
  const auto keep = [&](auto& values) {
    if (values.empty()) return;
    for (std::size_t i = 0; i < slots.size(); ++i)
      values[i] = values[static_cast<std::size_t>(slots[i])];
    values.resize(slots.size());
    if (values.capacity() > 2 * values.size()) values.shrink_to_fit();
  };
  keep(sums);
  keep(marks);
}

void Observers::Notes::ReadImportance(std::uint64_t rows, std::span<float> out) const {
  if (marks.empty()) return static_cast<void>(std::copy_n(sums.begin(), out.size(), out.begin()));
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(std::popcount(marks[i] & rows));
}

void Observers::Observe(const Call& call) {
  const KvShape& shape = call.pages->shape();
  kv_heads_ = shape.kv_heads;
  tasks_.clear();
  width_ = 0;
  for (const RowRun& run : call.runs) {
    const Observation& seen = run.observation;
    if (!seen.is_made() || run.first_position + run.rows <= seen.from) continue;
    const auto first =
        static_cast<std::int32_t>(std::max<std::int64_t>(seen.from - run.first_position, 0));
    Begin(call, run, first);
    width_ = std::max(width_, run.first_slot() + run.rows);
  }
  if (tasks_.empty()) return;
  width_ = (width_ + kTileKeys - 1) / kTileKeys * kTileKeys;
  const std::int32_t group = call.heads / shape.kv_heads;
  const std::int64_t floats =
      std::int64_t{shape.head_dim} * kTileKeys + (std::int64_t{kRowsTogether} * group + 1) * width_;
  GrowFloats(scratch_, floats * pool_.threads());
  pool_.ForPieces(std::ssize(tasks_), 1,
                  [&](std::int32_t thread, std::int64_t begin, std::int64_t end) {
                    const Scratch scratch = ScratchOf(thread, shape.head_dim, group);
                    for (std::int64_t i = begin; i < end; ++i)
                      Weigh(call, tasks_[static_cast<std::size_t>(i)], scratch);
                  });
}

// Room for the notes of the run's rows from `first` on, and who writes them.
void Observers::Begin(const Call& call, const RowRun& run, std::int32_t first) {
  const KvShape& shape = call.pages->shape();
  const Observation& seen = run.observation;
  const auto number = static_cast<std::size_t>(seen.observer);
  Require(0 <= seen.observer && seen.observer < Observation::kMaxObservers, "no such observer");
  if (number >= observers_.size()) observers_.resize(number + 1);
  std::unique_ptr<Observer>& observer = observers_[number];
  if (observer == nullptr) observer = std::make_unique<Observer>();
  observer->notes.resize(static_cast<std::size_t>(shape.layers * shape.kv_heads));
  const bool begins = run.first_position + first == seen.from;
  if (begins) observer->by = seen.by;
  Require(observer->by == seen.by, "an observer notes one kind of importance");
  observer->last = run.first_position + run.rows - 1;
  for (std::int32_t kv_head = 0; kv_head < shape.kv_heads; ++kv_head) {
    Notes& notes = observer->notes[static_cast<std::size_t>(call.layer * shape.kv_heads + kv_head)];
    if (begins) {
      notes = Notes();  // its memory, too
      notes.Resize(seen.by, run.first_slot() + first);
    }
    Require(notes.slots() == run.first_slot() + first,
            "from its first on, each token of a sequence is observed once");
    notes.Resize(seen.by, run.first_slot() + run.rows);
    tasks_.push_back({&run, first, kv_head, &notes});
  }
}

Observers::Scratch Observers::ScratchOf(std::int32_t thread, std::int32_t head_dim,
                                        std::int32_t group) {
  const std::int64_t tile = std::int64_t{head_dim} * kTileKeys;
  const std::int64_t scores = std::int64_t{kRowsTogether} * group * width_;
  float* at = scratch_.as<float>() + thread * (tile + scores + width_);
  return {at, at + tile, at + tile + scores, width_};
}

void Observers::Weigh(const Call& call, const Task& task, const Scratch& scratch) const {
  const std::int32_t group = call.heads / call.pages->shape().kv_heads;
  for (std::int32_t first = task.first; first < task.run->rows; first += kRowsTogether) {
    const std::int32_t rows = std::min(kRowsTogether, task.run->rows - first);
    Score(call, task, first, rows, scratch);
    for (std::int32_t row = 0; row < rows; ++row)
      Note(task, first + row, group, scratch.scores + row * group * scratch.width, scratch);
  }
}

// Of the query heads of the rows, each and all slots that the last one sees.
void Observers::Score(const Call& call, const Task& task, std::int32_t first, std::int32_t rows,
                      const Scratch& scratch) const {
  const KvShape& shape = call.pages->shape();
  const std::int32_t group = call.heads / shape.kv_heads;
  const std::int64_t end = task.run->first_slot() + first + rows;
  float factors[kTileKeys];
  for (std::int64_t slot = 0; slot < end; slot += kTileKeys) {
    ReadKeys(ops_, *call.pages,
             {.run = task.run,
              .layer = call.layer,
              .kv_head = task.kv_head,
              .first_slot = slot,
              .last_slot = end - 1},
             scratch.tile, factors);
    for (float& factor : factors) factor *= call.scale * kLog2E;
    float* scores = scratch.scores + slot;
    for (std::int32_t row = 0; row < rows; ++row) {
      const float* q = call.q + (task.run->first_row + first + row) * call.stride +
                       std::int64_t{task.kv_head} * group * shape.head_dim;
      for (std::int32_t h = 0; h < group; ++h, q += shape.head_dim, scores += scratch.width)
        ops_.score_tile(q, shape.head_dim, scratch.tile, factors, scores);
    }
  }
}

void Observers::Note(const Task& task, std::int32_t row, std::int32_t group, float* scores,
                     const Scratch& scratch) const {
  const std::int64_t slots = task.run->first_slot() + row + 1;
  std::fill_n(scratch.probabilities, scratch.width, 0.0F);
  for (std::int32_t h = 0; h < group; ++h, scores += scratch.width)
    ops_.add_probabilities(scores, slots, scratch.probabilities);
  if (task.run->observation.by == SlotImportance::kSum) {
    float* sums = task.notes->sums.data();
    for (std::int64_t i = 0; i < slots; ++i) sums[i] += scratch.probabilities[i];
    return;
  }
  const std::int64_t position = task.run->first_position + row;
  const std::uint64_t mark = std::uint64_t{1} << position % KeepRule::kMaxHistory;
  const float mean = static_cast<float>(group) / static_cast<float>(slots);
  std::uint64_t* marks = task.notes->marks.data();
  for (std::int64_t i = 0; i < slots; ++i)
    marks[i] = (marks[i] & ~mark) | (scratch.probabilities[i] >= mean ? mark : 0);
}

void Observers::Compact(PageStore& pages, std::span<const KvCompaction> compactions) {
  survivors_.resize(static_cast<std::size_t>(pool_.threads()));
  for (const KvCompaction& compaction : compactions) Compact(pages, compaction);
}

void Observers::Compact(PageStore& pages, const KvCompaction& compaction) {
  const KvShape& shape = pages.shape();
  CheckCompaction(compaction, shape);
  Observer* const observer = Find(compaction.observer);
  Require(observer != nullptr, "a compaction has an observer");
  for (const Notes& notes : observer->notes)
    Require(notes.slots() == compaction.slots, "all slots that are compacted were observed");
  for (Survivors& survivors : survivors_) survivors.Reserve(compaction.slots);
  const std::uint64_t rows = HistoryBits(observer->last, compaction.keep.history);
  const auto one = [&](std::int64_t index, Survivors& survivors) {
    Notes& notes = observer->notes[static_cast<std::size_t>(index)];
    const auto importance = survivors.scratch().first(static_cast<std::size_t>(compaction.slots));
    notes.ReadImportance(rows, importance);
    const auto kept = survivors.Choose(compaction.keep, importance);
    pages.CopyHeadSlots({.layer = static_cast<std::int32_t>(index / shape.kv_heads),
                         .kv_head = static_cast<std::int32_t>(index % shape.kv_heads),
                         .from = compaction.from,
                         .slots = kept,
                         .to = compaction.to});
    notes.Keep(kept);
  };
  pool_.ForPieces(std::ssize(observer->notes), 1,
                  [&](std::int32_t thread, std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i)
                      one(i, survivors_[static_cast<std::size_t>(thread)]);
                  });
}

std::int64_t Observers::bytes() const {
  std::size_t bytes = 0;
  for (const auto& observer : observers_) {
    if (observer == nullptr) continue;
    for (const Notes& notes : observer->notes)
      bytes +=
          notes.sums.capacity() * sizeof(float) + notes.marks.capacity() * sizeof(notes.marks[0]);
  }
  return static_cast<std::int64_t>(bytes);
}

std::vector<float> Observers::Importance(std::int32_t observer, std::int32_t layer,
                                         std::int32_t kv_head, std::int32_t history) const {
  Require(1 <= history && history <= KeepRule::kMaxHistory, "a history has 1..kMaxHistory rows");
  const Observer* found = Find(observer);
  Require(found != nullptr, "no such observer");
  const Notes& notes = found->notes[static_cast<std::size_t>(layer * kv_heads_ + kv_head)];
  std::vector<float> importance(static_cast<std::size_t>(notes.slots()));
  notes.ReadImportance(HistoryBits(found->last, history), importance);
  return importance;
}

Observers::Observer* Observers::Find(std::int32_t observer) const {
  const bool is_known = 0 <= observer && observer < std::ssize(observers_);
  return is_known ? observers_[static_cast<std::size_t>(observer)].get() : nullptr;
}

}  // namespace banyan::kernels
