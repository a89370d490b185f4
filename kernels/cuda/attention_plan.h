// What a step's rows attend to, as the device reads it: made on the host, once for all layers that
// have one window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/attention_tiles.h"
#include "kernels/cuda/choices.h"
#include "kernels/cuda/kernels.h"
#include "kernels/kv_shape.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {

// A chunk that a row attends to.
struct AttentionItem {
  std::int32_t row = 0;
  std::int32_t first_key = 0;  // a multiple of kChunkKeys
  AttentionReads reads = AttentionReads::kWindow;
};

// How rows are put together; it changes no row's bits.
struct TileRules {
  // Runs whose tiles make so many blocks attend whole; others, which would leave much of a device
  // idle, chunk by chunk.
  std::int32_t whole_blocks = 256;
  // Items done at once, or one row's.
  std::int32_t max_items = 16384;
};

// Runs' rows follow each other from row 0 on. Bounds: positions below 2^31; the tables of a step
// are as long as the batch's.
struct AttentionPlan {
  std::vector<AttentionRow> rows;
  std::vector<AttentionItem> items;      // row after row, in the order in which they are merged
  std::vector<std::int32_t> first_item;  // rows + 1 of them
  std::vector<AttentionTile> tiles;
  std::vector<AttentionTileRow> tile_rows;
  std::vector<AttentionPart> parts;
  // Of each run once; and room for what rows choose, which the device writes.
  std::vector<std::int32_t> tables;
  std::vector<TokenPlace> places;  // where a row's key and value go
  // Rows that see sinks, and how far their queries are to be turned for them, in positions.
  std::vector<std::int32_t> sink_rows;
  std::vector<std::int32_t> sink_turns;
  // Where pages are sealed: open pages that go on as staged ones, pages that are full behind the
  // step, and how many are staged: of each run all that its rows are in but the last.
  std::vector<PagePair> begun;
  std::vector<PagePair> full;
  std::int32_t staged = 0;
  std::int32_t heads = 0;  // of a row's query
  // Rows that choose pages, how many of them a row chooses among at most, and how many scores all
  // have together.
  std::vector<ChoosingRow> choosing;
  std::int32_t most_old = 0;
  std::int64_t scores = 0;

  // The window is the layer's, 0 where runs have their own. Runs keep to
  // CheckRuns (kernels/runs.h); they choose pages as in the layer.
  void Make(std::span<const RowRun> runs, const KvShape& shape, std::int64_t window,
            std::int32_t query_heads, std::int32_t layer = 0, const TileRules& rules = {});

 private:
  void Clear();
  void AddRow(const KeyWindow& window, AttentionRow row, bool whole);
  void AddItems(AttentionReads reads);
  void AddSealed(const RowRun& run, std::int32_t page_size);
  void AddChoosing(const RowRun& run, const KvShape& shape, std::int64_t seen, AttentionRow& row);

  AttentionTiles together_;
};

}  // namespace banyan::kernels::cuda
