#include "kernels/cuda/observers.h"

#include <algorithm>
#include <utility>

#include "kernels/require.h"
#include "kernels/runs.h"

namespace banyan::kernels::cuda {
namespace {

std::int64_t BytesOf(SlotImportance by) {
  return by == SlotImportance::kSum ? sizeof(float) : sizeof(std::uint64_t);
}

std::size_t Bytes(std::int64_t count, std::int64_t each) {
  return static_cast<std::size_t>(count * each);
}

}  // namespace

void Observers::Begin(std::span<const RowRun> runs, const AttentionPlan& plan,
                      const PageMemory& pages, Stream stream) {
  const KvShape& shape = pages.shape();
  parts_.clear();
  rows_.clear();
  runs_.clear();
  for (const RowRun& run : runs) {
    const Observation& seen = run.observation;
    if (!seen.is_made() || run.first_position + run.rows <= seen.from) continue;
    const auto first =
        static_cast<std::int32_t>(std::max<std::int64_t>(seen.from - run.first_position, 0));
    const Observer& observer = BeginRun(run, first, shape, stream);
    const bool begins = run.first_position + first == seen.from;
    for (std::int32_t row = first; row < run.rows; row += ObservedRows::kMost) {
      const auto slot = static_cast<std::int32_t>(run.first_slot() + row);
      AddRows({.first_page = plan.rows[static_cast<std::size_t>(run.first_row)].first_page,
               .first_row = run.first_row + row,
               .rows = std::min(ObservedRows::kMost, run.rows - row),
               .first_slot = slot},
              {.notes = observer.view(),
               .known = begins && row == first ? 0 : slot,
               .first_position = run.first_position + row},
              row == first, plan.heads);
    }
  }
  if (parts_.empty()) return;
  staging_.Upload<ObservedRows>(device_rows_, rows_);
  staging_.Upload<NotedRun>(device_runs_, runs_);
  for (const Part& part : parts_) {
    scores_.Grow(Bytes(part.scores, sizeof(float)));
    shares_.Grow(Bytes(part.shares, sizeof(float)));
  }
}

// Room for the notes of the run's rows from `first` on.
Observers::Observer& Observers::BeginRun(const RowRun& run, std::int32_t first,
                                         const KvShape& shape, Stream stream) {
  const Observation& seen = run.observation;
  const auto number = static_cast<std::size_t>(seen.observer);
  Require(0 <= seen.observer && seen.observer < Observation::kMaxObservers, "no such observer");
  if (number >= observers_.size()) observers_.resize(number + 1);
  if (observers_[number] == nullptr) observers_[number] = std::make_unique<Observer>();
  Observer& observer = *observers_[number];
  if (run.first_position + first == seen.from) {
    observer.slots = 0;
    if (observer.by != seen.by) observer.capacity = 0;
    observer.by = seen.by;
  } else {
    Require(observer.by == seen.by, "an observer notes one kind of importance");
    Require(observer.slots == run.first_slot() + first,
            "from its first on, each token of a sequence is observed once");
  }
  Grow(observer, run.first_slot() + run.rows, shape, stream);
  observer.slots = run.first_slot() + run.rows;
  observer.last = run.first_position + run.rows - 1;
  return observer;
}

void Observers::Grow(Observer& observer, std::int64_t slots, const KvShape& shape, Stream stream) {
  if (slots <= observer.capacity) return;
  const std::int64_t heads = std::int64_t{shape.layers} * shape.kv_heads;
  const std::int64_t capacity = std::max(slots, 2 * observer.capacity);
  const std::int64_t each = BytesOf(observer.by);
  DeviceBuffer notes(Bytes(heads * capacity, each));
  for (std::int64_t head = 0; observer.slots > 0 && head < heads; ++head)
    CopyOnDevice(notes.as<std::byte>() + head * capacity * each,
                 observer.notes.as<std::byte>() + head * observer.capacity * each,
                 Bytes(observer.slots, each), stream);
  std::swap(observer.notes, notes);
  observer.capacity = capacity;
}

// To the last part, or one more where that has too many scores.
void Observers::AddRows(const ObservedRows& rows, const NotedRun& run, bool begins_run,
                        std::int32_t heads) {
  constexpr std::int32_t kAligned = 8;  // floats
  ObservedRows added = rows;
  added.width = (rows.slots() + kAligned - 1) / kAligned * kAligned;
  const std::int64_t scores = std::int64_t{rows.rows} * heads * added.width;
  const bool begins_part = parts_.empty() || parts_.back().scores + scores > kMostScores;
  if (begins_part)
    parts_.push_back({.first_rows = static_cast<std::int32_t>(rows_.size()),
                      .first_run = static_cast<std::int32_t>(runs_.size())});
  Part& part = parts_.back();
  if (begins_part || begins_run) {
    runs_.push_back(run);
    runs_.back().first_rows = static_cast<std::int32_t>(rows_.size()) - part.first_rows;
    ++part.runs;
  }
  ++runs_.back().count;
  added.first_score = part.scores;
  added.first_share = part.shares;
  rows_.push_back(added);
  ++part.count;
  part.scores += scores;
  part.shares += std::int64_t{rows.rows} * heads;
  part.most_slots = std::max(part.most_slots, rows.slots());
}

void Observers::Observe(const Call& call, const AttentionWork& work, const PageMemory& pages,
                        Stream stream) {
  for (const Part& part : parts_)
    cuda::Observe(stream,
                  {.q = call.q,
                   .heads = call.heads,
                   .scale = call.scale,
                   .tables = work.tables,
                   .rows = device_rows_.as<ObservedRows>() + part.first_rows,
                   .runs = device_runs_.as<NotedRun>() + part.first_run,
                   .count = part.count,
                   .run_count = part.runs,
                   .most_slots = part.most_slots,
                   .scores = scores_.as<float>(),
                   .shares = shares_.as<float>()},
                  pages.view().pages, call.layer);
}

void Observers::Compact(const KvCompaction& compaction, const PageMemory& pages, Stream stream) {
  const KvShape& shape = pages.shape();
  CheckCompaction(compaction, shape);
  const auto number = static_cast<std::size_t>(compaction.observer);
  Require(0 <= compaction.observer && number < observers_.size() && observers_[number] != nullptr,
          "a compaction has an observer");
  Observer& observer = *observers_[number];
  Require(observer.slots == compaction.slots, "all slots that are compacted were observed");
  const std::int64_t heads = std::int64_t{shape.layers} * shape.kv_heads;
  const std::int64_t kept = compaction.keep.kept(compaction.slots);
  pooled_.Grow(Bytes(heads * compaction.slots, sizeof(float)));
  survivors_.Grow(Bytes(heads * kept, sizeof(std::int32_t)));
  const CompactionStep step{.from = staging_.Upload(from_, compaction.from),
                            .to = staging_.Upload(to_, compaction.to),
                            .slots = static_cast<std::int32_t>(compaction.slots),
                            .keep = compaction.keep,
                            .notes = observer.view(),
                            .rows = HistoryBits(observer.last, compaction.keep.history),
                            .pooled = pooled_.as<float>(),
                            .survivors = survivors_.as<std::int32_t>()};
  ListSurvivors(stream, step, pages.view().pages);
  MoveSurvivors(stream, step, pages.view().pages);
  observer.slots = kept;
}

}  // namespace banyan::kernels::cuda
