#include "kernels/cuda/attention_plan.h"

#include <algorithm>

#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

// Of which runs rows attend whole, if they make enough blocks together.
bool MayAttendWhole(const RowRun& run, const KvShape& shape) {
  constexpr std::int32_t kMinRows = 16;
  return run.rows >= kMinRows && run.window.sinks == 0 && !run.choice.is_made() &&
         !SealsPages(shape.format) && shape.head_dim <= AttentionTile::kMaxWholeDims;
}

bool AttendWhole(std::span<const RowRun> runs, const KvShape& shape, std::int32_t group,
                 const TileRules& rules) {
  const std::int32_t tile_rows = AttentionTile::kMaxQueries / group;
  std::int64_t blocks = 0;
  for (const RowRun& run : runs)
    if (MayAttendWhole(run, shape))
      blocks += std::int64_t{(run.rows + tile_rows - 1) / tile_rows} * shape.kv_heads;
  return blocks >= rules.whole_blocks;
}

}  // namespace

void AttentionPlan::Make(std::span<const RowRun> runs, const KvShape& shape, std::int64_t window,
                         std::int32_t query_heads, std::int32_t layer, const TileRules& rules) {
  const std::int32_t page_size = shape.page_size;
  Require(query_heads > 0 && query_heads % shape.kv_heads == 0, "query heads are whole groups");
  const std::int32_t group = query_heads / shape.kv_heads;
  const bool seals = SealsPages(shape.format);
  const bool some_whole = AttendWhole(runs, shape, group, rules);
  Clear();
  heads = query_heads;
  together_.Begin(*this, group, page_size);
  for (const RowRun& run : runs) {
    Require(run.first_row == static_cast<std::int32_t>(rows.size()), "runs follow each other");
    Require(window == 0 || !run.window.is_bounded(), "layer or run has a window");
    Require(window == 0 || (run.compacted == 0 && !run.choice.is_made()),
            "where a layer has a window runs see all their slots");
    Require(!seals || (run.compacted == 0 && !run.choice.is_made()),
            "a run on sealed pages sees all its slots");
    Require(!seals || (0 <= run.open_page && run.open_page < shape.open_pages),
            "a run has an open page");
    const auto table = static_cast<std::int64_t>(tables.size());
    tables.insert(tables.end(), run.pages.begin(), run.pages.end());
    const std::int64_t first = run.first_slot() / page_size;
    const std::int64_t last = (run.first_slot() + run.rows - 1) / page_size;
    const bool whole = some_whole && MayAttendWhole(run, shape);
    const bool chooses = run.choice.is_made() && layer >= run.choice.dense_layers;
    for (std::int32_t i = 0; i < run.rows; ++i) {
      const std::int64_t slot = run.first_slot() + i;
      const std::int64_t page = slot / page_size;
      AttentionRow row{.first_page = table,
                       .dropped_pages = run.dropped_pages,
                       .slot = static_cast<std::int32_t>(slot)};
      TokenPlace place{run.page(page), static_cast<std::int32_t>(slot % page_size)};
      if (chooses && page >= run.choice.pages) AddChoosing(run, shape, page + 1, row);
      row.own_first = row.slot + 1;
      if (seals) {
        row.own_first -= place.slot + 1;
        row.own_page =
            page == last ? run.open_page : ~(staged + static_cast<std::int32_t>(page - first));
        place.page = row.own_page;
      }
      places.push_back(place);
      AddRow(window == 0 ? run.window : KeyWindow{.window = window}, row, whole);
    }
    if (seals) AddSealed(run, page_size);
    if (whole) together_.AddWhole(run.first_row, run.rows);
  }
  together_.AddItems(runs, rules.max_items);
}

void AttentionPlan::Clear() {
  rows.clear();
  items.clear();
  first_item.assign(1, 0);
  tiles.clear();
  tile_rows.clear();
  parts.clear();
  tables.clear();
  places.clear();
  sink_rows.clear();
  sink_turns.clear();
  begun.clear();
  full.clear();
  staged = 0;
  choosing.clear();
  most_old = 0;
  scores = 0;
}

void AttentionPlan::AddRow(const KeyWindow& window, AttentionRow row, bool whole) {
  row.oldest = static_cast<std::int32_t>(window.first_key(row.slot));
  row.sinks = window.cuts(row.slot) ? window.sinks : 0;
  rows.push_back(row);
  if (!whole) {
    AddItems(AttentionReads::kSinks);
    AddItems(AttentionReads::kOwnSinks);
    AddItems(AttentionReads::kWindow);
    AddItems(AttentionReads::kOwnWindow);
  }
  first_item.push_back(static_cast<std::int32_t>(items.size()));
  if (row.sinks == 0) return;
  sink_rows.push_back(static_cast<std::int32_t>(rows.size()) - 1);
  sink_turns.push_back(static_cast<std::int32_t>(window.capacity() - 1 - row.slot));
}

// Of the last row.
void AttentionPlan::AddItems(AttentionReads reads) {
  const KeyRange seen = rows.back().Seen(reads);
  if (seen.begin >= seen.end) return;
  for (std::int32_t key = seen.begin / kChunkKeys * kChunkKeys; key < seen.end; key += kChunkKeys)
    items.push_back({static_cast<std::int32_t>(rows.size()) - 1, key, reads});
}

void AttentionPlan::AddSealed(const RowRun& run, std::int32_t page_size) {
  const std::int64_t first = run.first_slot() / page_size;
  const std::int64_t last = (run.first_slot() + run.rows - 1) / page_size;
  const std::int64_t end = (run.first_slot() + run.rows) / page_size;
  if (first < last && run.first_slot() % page_size != 0) begun.push_back({run.open_page, ~staged});
  for (std::int64_t page = first; page < end; ++page) {
    const std::int32_t from =
        page == last ? run.open_page : ~(staged + static_cast<std::int32_t>(page - first));
    full.push_back({from, run.page(page)});
  }
  staged += static_cast<std::int32_t>(last - first);
}

// The row sees more pages than it reads: its keys are those of what it chooses, one page behind the
// other, its own last.
void AttentionPlan::AddChoosing(const RowRun& run, const KvShape& shape, std::int64_t seen,
                                AttentionRow& row) {
  const std::int64_t pages = run.choice.pages;
  const auto newest = static_cast<std::int32_t>(run.choice.newest());
  const auto old = static_cast<std::int32_t>(seen) - newest;
  choosing.push_back({.row = static_cast<std::int32_t>(rows.size()),
                      .old = old,
                      .chosen = static_cast<std::int32_t>(pages) - newest,
                      .newest = newest,
                      .seen_page = row.first_page,
                      .read_page = static_cast<std::int64_t>(tables.size()),
                      .score = scores});
  row.first_page = static_cast<std::int64_t>(tables.size());
  row.pages_per_head = pages;
  row.slot -= static_cast<std::int32_t>(seen - pages) * shape.page_size;
  tables.resize(tables.size() + static_cast<std::size_t>(shape.kv_heads * pages), 0);
  most_old = std::max(most_old, old);
  scores += std::int64_t{shape.kv_heads} * old;
}

}  // namespace banyan::kernels::cuda
