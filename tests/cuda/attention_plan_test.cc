// What rows of a step attend to, and which of them together.

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/attention_plan.h"

namespace banyan::kernels::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

constexpr KvShape kShape{.kv_heads = 2, .head_dim = 64, .page_size = 16};
constexpr std::int32_t kHeads = 8;  // groups of four

// Pages first, first + 1, .. of so many tokens.
std::vector<std::int32_t> Table(std::int32_t tokens, std::int32_t first) {
  std::vector<std::int32_t> table(static_cast<std::size_t>((tokens + 15) / 16));
  std::iota(table.begin(), table.end(), first);
  return table;
}

AttentionPlan Made(std::span<const RowRun> runs, std::int64_t window = 0,
                   const TileRules& rules = {}) {
  AttentionPlan plan;
  plan.Make(runs, kShape, window, kHeads, 0, rules);
  return plan;
}

std::vector<std::int32_t> RowsOf(const AttentionPlan& plan, const AttentionTile& tile) {
  std::vector<std::int32_t> rows;
  for (std::int32_t i = tile.first_row; i < tile.first_row + tile.rows; ++i)
    rows.push_back(plan.tile_rows[static_cast<std::size_t>(i)].row);
  return rows;
}

TEST(AttentionPlan, HasAnItemForEveryChunkThatIsSeen) {
  const std::vector<std::int32_t> pages(100, 0);
  const RowRun runs[] = {
      {.first_row = 0, .rows = 2, .first_position = kChunkKeys - 1, .pages = pages},
      {.first_row = 2, .rows = 1, .first_position = 3 * kChunkKeys, .pages = pages}};
  EXPECT_THAT(Made(runs).first_item, ElementsAre(0, 1, 3, 7));
  const AttentionPlan plan = Made(runs, 2);
  EXPECT_THAT(plan.first_item, ElementsAre(0, 1, 3, 5));
  EXPECT_EQ(plan.items.back().first_key, 3 * kChunkKeys);
  EXPECT_EQ(plan.items[3].first_key, 2 * kChunkKeys);
  EXPECT_THAT(Made(runs, 1).first_item, ElementsAre(0, 1, 2, 3));
}

TEST(AttentionTiles, RowsOfARunAttendTogether) {
  const std::vector<std::int32_t> pages = Table(400, 0);
  const RowRun run{.rows = 18, .first_position = kChunkKeys - 10, .pages = pages};
  const AttentionPlan plan = Made({&run, 1});
  // Sixteen rows of four heads, the other two, and those that see the second chunk.
  ASSERT_THAT(plan.parts, SizeIs(1));
  EXPECT_THAT(plan.parts[0].tiles, ElementsAre(2, 1, 0, 0));
  EXPECT_THAT(plan.tiles[0].rows, 16);
  EXPECT_EQ(plan.tiles[0].some.end, kChunkKeys);
  EXPECT_EQ(plan.tiles[0].all.end, kChunkKeys - 9);
  EXPECT_THAT(RowsOf(plan, plan.tiles[1]), ElementsAre(10, 11, 12, 13, 14, 15, 16, 17));
  EXPECT_EQ(plan.tiles[1].some.begin, kChunkKeys);
  EXPECT_THAT(RowsOf(plan, plan.tiles[2]), ElementsAre(16, 17));
}

TEST(AttentionTiles, RowsAttendWholeWhereTheyFillADevice) {
  const std::vector<std::int32_t> pages = Table(2000, 0);
  const RowRun runs[] = {{.first_row = 0, .rows = 40, .first_position = 1000, .pages = pages},
                         {.first_row = 40, .rows = 1, .first_position = 300, .pages = pages}};
  const AttentionPlan plan = Made(runs, 0, {.whole_blocks = 6});
  EXPECT_THAT(plan.items, SizeIs(2)) << "of the row that is alone";
  EXPECT_THAT(plan.parts[0].tiles, ElementsAre(3, 2, 0, 0));
  EXPECT_THAT(RowsOf(plan, plan.tiles[0]).front(), 24) << "the longest comes first";
  EXPECT_EQ(plan.tiles[0].some.end, 1040);
  EXPECT_EQ(plan.tile_rows[0].item, AttentionTileRow::kWhole);
  EXPECT_THAT(Made(runs, 0, {.whole_blocks = 7}).items, SizeIs(40 * 4 + 16 + 2));
}

TEST(AttentionTiles, OfRunsWhosePagesBeginAlikeReadThemOnce) {
  const std::vector<std::int32_t> one = Table(600, 0);
  std::vector<std::int32_t> other = one;
  other[20] = 100;  // in the second chunk
  const std::vector<std::int32_t> third = Table(600, 200);
  const RowRun runs[] = {{.first_row = 0, .rows = 1, .first_position = 599, .pages = one},
                         {.first_row = 1, .rows = 1, .first_position = 599, .pages = third},
                         {.first_row = 2, .rows = 1, .first_position = 590, .pages = other}};
  const AttentionPlan plan = Made(runs);
  ASSERT_THAT(plan.items, SizeIs(9));
  ASSERT_THAT(plan.tiles, SizeIs(8));
  EXPECT_THAT(RowsOf(plan, plan.tiles[0]), ElementsAre(0, 2));
  for (std::size_t i = 1; i < 8; ++i) EXPECT_EQ(plan.tiles[i].rows, 1);
}

TEST(AttentionTiles, PartsHaveTheirOwn) {
  const std::vector<std::int32_t> pages = Table(600, 0);
  const RowRun run{.rows = 4, .first_position = 520, .pages = pages};
  const AttentionPlan plan = Made({&run, 1}, 0, {.max_items = 7});
  ASSERT_THAT(plan.parts, SizeIs(2));
  for (const std::int32_t part : {0, 1}) {
    EXPECT_EQ(plan.parts[part].first_row, 2 * part);
    EXPECT_EQ(plan.parts[part].rows, 2);
    EXPECT_EQ(plan.parts[part].first_item, 6 * part);
    EXPECT_EQ(plan.parts[part].items, 6);
    EXPECT_EQ(plan.parts[part].first_tile, 3 * part);
    EXPECT_THAT(plan.parts[part].tiles, ElementsAre(0, 3, 0, 0));
  }
  EXPECT_THAT(Made({&run, 1}, 0, {.max_items = 1}).parts, SizeIs(4)) << "a row at least";
}

}  // namespace
}  // namespace banyan::kernels::cuda
