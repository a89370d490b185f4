#include "kernels/cuda/attention_plan.h"

#include <algorithm>

#include "kernels/require.h"

namespace banyan::kernels::cuda {

void AttentionPlan::Make(std::span<const RowRun> runs, const KvShape& shape, std::int64_t window) {
  const std::int32_t page_size = shape.page_size;
  const bool seals = SealsPages(shape.format);
  items.clear();
  first_item.assign(1, 0);
  rows.clear();
  tables.clear();
  places.clear();
  sink_rows.clear();
  sink_turns.clear();
  begun.clear();
  full.clear();
  staged = 0;
  for (const RowRun& run : runs) {
    Require(run.first_row == static_cast<std::int32_t>(rows.size()), "runs follow each other");
    Require(window == 0 || !run.window.is_bounded(), "layer or run has a window");
    Require(run.compacted == 0 && !run.choice.is_made(), "a run sees all its slots");
    Require(!seals || (0 <= run.open_page && run.open_page < shape.open_pages),
            "a run has an open page");
    const auto table = static_cast<std::int64_t>(tables.size());
    tables.insert(tables.end(), run.pages.begin(), run.pages.end());
    const std::int64_t first = run.first_position / page_size;
    const std::int64_t last = (run.first_position + run.rows - 1) / page_size;
    for (std::int32_t i = 0; i < run.rows; ++i) {
      const std::int64_t position = run.first_position + i;
      const std::int64_t page = position / page_size;
      AttentionRow row{.first_page = table,
                       .dropped_pages = run.dropped_pages,
                       .position = static_cast<std::int32_t>(position),
                       .own_first = static_cast<std::int32_t>(position) + 1};
      TokenPlace place{run.page(page), static_cast<std::int32_t>(position % page_size)};
      if (seals) {
        row.own_first -= place.slot + 1;
        row.own_page =
            page == last ? run.open_page : ~(staged + static_cast<std::int32_t>(page - first));
        place.page = row.own_page;
      }
      places.push_back(place);
      AddRow(window == 0 ? run.window : KeyWindow{.window = window}, row);
    }
    if (seals) AddSealed(run, page_size);
  }
}

void AttentionPlan::AddRow(const KeyWindow& window, AttentionRow row) {
  row.oldest = static_cast<std::int32_t>(window.first_key(row.position));
  row.sinks = window.cuts(row.position) ? window.sinks : 0;
  rows.push_back(row);
  AddItems(0, std::min(row.sinks, row.own_first), AttentionReads::kSinks);
  AddItems(row.own_first, row.sinks, AttentionReads::kOwnSinks);
  AddItems(row.oldest, std::min(row.position + 1, row.own_first), AttentionReads::kWindow);
  AddItems(std::max(row.oldest, row.own_first), row.position + 1, AttentionReads::kOwnWindow);
  first_item.push_back(static_cast<std::int32_t>(items.size()));
  if (row.sinks == 0) return;
  sink_rows.push_back(static_cast<std::int32_t>(rows.size()) - 1);
  sink_turns.push_back(static_cast<std::int32_t>(window.capacity() - 1 - row.position));
}

// Of the last row: keys begin .. end - 1.
void AttentionPlan::AddItems(std::int32_t begin, std::int32_t end, AttentionReads reads) {
  constexpr std::int32_t kChunk = AttentionItem::kChunkKeys;
  if (begin >= end) return;
  for (std::int32_t key = begin / kChunk * kChunk; key < end; key += kChunk)
    items.push_back({static_cast<std::int32_t>(rows.size()) - 1, key, reads});
}

void AttentionPlan::AddSealed(const RowRun& run, std::int32_t page_size) {
  const std::int64_t first = run.first_position / page_size;
  const std::int64_t last = (run.first_position + run.rows - 1) / page_size;
  const std::int64_t end = (run.first_position + run.rows) / page_size;
  if (first < last && run.first_position % page_size != 0)
    begun.push_back({run.open_page, ~staged});
  for (std::int64_t page = first; page < end; ++page) {
    const std::int32_t from =
        page == last ? run.open_page : ~(staged + static_cast<std::int32_t>(page - first));
    full.push_back({from, run.page(page)});
  }
  staged += static_cast<std::int32_t>(last - first);
}

}  // namespace banyan::kernels::cuda
