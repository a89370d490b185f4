#include "kernels/runs.h"

#include <algorithm>

#include "kernels/require.h"

namespace banyan::kernels {
namespace {

void CheckWindow(const RowRun& run, std::int32_t page_size) {
  const KeyWindow& window = run.window;
  Require(window.window >= 0 && 0 <= window.sinks && window.sinks <= KeyWindow::kMaxSinks &&
              (window.sinks == 0 || window.is_bounded()),
          "a window has keys, and up to kMaxSinks sinks");
  if (run.dropped_pages == 0) return;
  Require(run.front_pages >= 0 && run.dropped_pages > 0, "a gap is of pages");
  Require(
      window.cuts(run.first_position) && window.sinks <= run.front_pages * page_size &&
          (run.front_pages + run.dropped_pages) * page_size <= window.first_key(run.first_position),
      "no row sees a key in the gap of its run's page table");
}

void CheckCompacted(const RowRun& run) {
  if (run.compacted == 0) return;
  Require(0 < run.compacted && run.compacted < run.first_position,
          "some of the slots before a run were kept");
  Require(!run.window.is_bounded() && run.dropped_pages == 0,
          "a run that was compacted sees all its slots");
}

void CheckChoice(const RowRun& run) {
  Require(run.pages_per_head == 0, "a step's page tables are for all heads");
  const PageChoice& choice = run.choice;
  Require(choice.pages >= 0 && 0 <= choice.dense_layers &&
              choice.dense_layers <= PageChoice::kMaxDenseLayers,
          "a choice is of pages");
  if (!choice.is_made()) return;
  Require(!run.window.is_bounded() && run.compacted == 0 && !run.observation.is_made(),
          "a run that chooses pages sees all its slots");
}

}  // namespace

std::int32_t CheckRuns(std::span<const RowRun> runs, std::int32_t max_rows, const KvShape& shape) {
  std::int32_t end = 0;
  for (const RowRun& run : runs) {
    Require(run.rows > 0 && run.first_row >= 0 && run.first_row + run.rows <= max_rows,
            "a run's rows are rows of the step");
    Require(run.first_position >= 0, "positions start at 0");
    CheckWindow(run, shape.page_size);
    CheckCompacted(run);
    CheckChoice(run);
    const std::int64_t pages = (run.first_slot() + run.rows - 1) / shape.page_size + 1;
    const std::int64_t named = pages - run.dropped_pages;
    Require(named <= std::ssize(run.pages), "a run's page table covers its rows");
    for (const std::int32_t page : run.pages.first(static_cast<std::size_t>(named)))
      Require(0 <= page && page < shape.pages, "a page table names pages of the store");
    end = std::max(end, run.first_row + run.rows);
  }
  return end;
}

void CheckCompaction(const KvCompaction& compaction, const KvShape& shape) {
  Require(compaction.keep.is_sound(), "a rule keeps sinks and recent slots within its budget");
  const auto covers = [&](std::span<const std::int32_t> table, std::int64_t slots) {
    return slots <= std::ssize(table) * shape.page_size &&
           std::all_of(table.begin(), table.end(),
                       [&](std::int32_t page) { return 0 <= page && page < shape.pages; });
  };
  Require(compaction.slots >= 1 && covers(compaction.from, compaction.slots) &&
              covers(compaction.to, compaction.keep.kept(compaction.slots)),
          "the tables of a compaction cover its slots");
  for (std::size_t i = 0; i < std::min(compaction.to.size(), compaction.from.size()); ++i) {
    const auto behind = compaction.from.subspan(i + 1);
    Require(std::ranges::find(behind, compaction.to[i]) == behind.end(),
            "no slot is written before it was read");
  }
}

}  // namespace banyan::kernels
