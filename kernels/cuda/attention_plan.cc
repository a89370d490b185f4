#include "kernels/cuda/attention_plan.h"

#include <algorithm>

#include "kernels/require.h"

namespace banyan::kernels::cuda {

void AttentionPlan::Make(std::span<const RowRun> runs, std::int32_t page_size,
                         std::int64_t window) {
  items.clear();
  first_item.assign(1, 0);
  rows.clear();
  tables.clear();
  slots.clear();
  sink_rows.clear();
  sink_turns.clear();
  for (const RowRun& run : runs) {
    Require(run.first_row == static_cast<std::int32_t>(rows.size()), "runs follow each other");
    Require(window == 0 || !run.window.is_bounded(), "layer or run has a window");
    Require(run.compacted == 0 && !run.choice.is_made(), "a run sees all its slots");
    const auto table = static_cast<std::int64_t>(tables.size());
    tables.insert(tables.end(), run.pages.begin(), run.pages.end());
    for (std::int32_t i = 0; i < run.rows; ++i) {
      const std::int64_t position = run.first_position + i;
      AddRow(run, position, window == 0 ? run.window : KeyWindow{.window = window});
      rows.back().first_page = table;
      slots.push_back(std::int64_t{run.page(position / page_size)} * page_size +
                      position % page_size);
    }
  }
}

void AttentionPlan::AddRow(const RowRun& run, std::int64_t position, const KeyWindow& window) {
  constexpr std::int64_t kChunk = AttentionItem::kChunkKeys;
  const auto number = static_cast<std::int32_t>(rows.size());
  const std::int64_t oldest = window.first_key(position);
  const bool sees_sinks = window.cuts(position) && window.sinks > 0;
  if (sees_sinks) {
    items.push_back({number, AttentionItem::kSinks});
    sink_rows.push_back(number);
    sink_turns.push_back(static_cast<std::int32_t>(window.capacity() - 1 - position));
  }
  for (std::int64_t key = oldest / kChunk * kChunk; key <= position; key += kChunk)
    items.push_back({number, static_cast<std::int32_t>(key)});
  first_item.push_back(static_cast<std::int32_t>(items.size()));
  rows.push_back({.dropped_pages = run.dropped_pages,
                  .position = static_cast<std::int32_t>(position),
                  .oldest = static_cast<std::int32_t>(oldest),
                  .sinks = sees_sinks ? window.sinks : 0});
}

}  // namespace banyan::kernels::cuda
