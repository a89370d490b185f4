// Windows of keys with attention sinks, and page tables with gaps, against double precision and to
// the bits of tables without gaps.

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cuda/rig.h"

namespace banyan::kernels::cuda::testing {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::Pointwise;

class Windows : public ::testing::TestWithParam<Heads> {
 protected:
  static Rows Queries(std::int32_t count) {
    return RandomRows(count, GetParam().heads * GetParam().head_dim, 1000);
  }
};
std::string NameOf(const ::testing::TestParamInfo<Heads>& test) {
  const Heads& h = test.param;
  return std::string(LayoutOf(h.format).name) + "_" + std::to_string(h.page_size) + "_" +
         std::to_string(h.heads) + "_" + std::to_string(h.kv_heads) + "_" +
         std::to_string(h.head_dim);
}
INSTANTIATE_TEST_SUITE_P(
    Shapes, Windows,
    ::testing::Values(Heads{4, 2, 8, 1}, Heads{4, 2, 8, 5},
                      Heads{9, 3, 64, 16, KvFormat::kF16, RopePairs::kNeighbours},
                      Heads{3, 3, 24, 32, KvFormat::kBf16}, Heads{6, 2, 96, 16, KvFormat::kFp8},
                      Heads{6, 2, 80, 16, KvFormat::kInt8, RopePairs::kNeighbours},
                      Heads{17, 1, 8, 64, KvFormat::kInt8}),
    NameOf);

constexpr KeyWindow kWindows[] = {{1, 0}, {37, 16}, {64, 64}, {kChunkKeys, 4}};

// Rows on both sides of where a window begins to cut.
TEST_P(Windows, AgreeWithDoublePrecision) {
  for (const KeyWindow& window : kWindows) {
    const auto edge = static_cast<std::int32_t>(window.capacity());
    const Sequences sequences(GetParam(), {std::max(4, edge + 2), edge + 20}, 1);
    const Rows q = Queries(2 * 4);
    for (const Asked::Pages pages : {Asked::Pages::kAll, Asked::Pages::kSeen}) {
      const Asked asked{.rows = 4, .own = window, .pages = pages};
      EXPECT_THAT(
          sequences.Attend(q, asked),
          Pointwise(DoubleNear(AttentionBound(GetParam().format)), sequences.Reference(q, asked)))
          << "window " << window.window << ", sinks " << window.sinks;
    }
  }
}

TEST_P(Windows, HaveTheBitsOfEachRowAloneAndOfTablesWithoutGaps) {
  const std::int32_t cols = GetParam().heads * GetParam().head_dim;
  for (const KeyWindow& window : {KeyWindow{30, 4}, KeyWindow{70, 0}}) {
    const Sequences sequences(GetParam(), {200, 20, 90}, 2);
    const Rows q = Queries(3);
    const Row whole = sequences.Attend(q, {.own = window});
    EXPECT_EQ(sequences.Attend(q, {.own = window, .pages = Asked::Pages::kSeen}), whole);
    for (std::int32_t s = 0; s < 3; ++s)
      EXPECT_EQ(sequences.AttendAlone({q[s]}, s, {.own = window, .pages = Asked::Pages::kSeen}),
                Row(whole.begin() + s * cols, whole.begin() + (s + 1) * cols));
  }
}

TEST_P(Windows, RowsOfARunHaveTheBitsOfEachAlone) {
  const std::int32_t cols = GetParam().heads * GetParam().head_dim;
  const Sequences sequences(GetParam(), {60}, 5);
  const Rows q = Queries(20);
  const KeyWindow window{30, 4};  // which cuts from position 34 on
  const Row together = sequences.Attend(q, {.rows = 20, .behind = 20, .own = window});
  for (const std::int32_t row : {0, 13, 14, 19})
    EXPECT_EQ(sequences.AttendAlone({q[row]}, 0, {.behind = 39 - row, .own = window}),
              Row(together.begin() + row * cols, together.begin() + (row + 1) * cols));
}

TEST_P(Windows, OfEverythingHaveTheBitsOfNone) {
  const Sequences sequences(GetParam(), {100}, 3);
  const Rows q = Queries(2);
  const Row all = sequences.Attend(q, {.rows = 2});
  EXPECT_EQ(sequences.Attend(q, {.rows = 2, .own = {.window = std::int64_t{1} << 50}}), all);
  EXPECT_EQ(sequences.Attend(q, {.rows = 2, .own = {.window = 96, .sinks = 4}}), all);
  const Row cut = sequences.Attend(q, {.rows = 2, .own = {.window = 95, .sinks = 4}});
  const auto half = static_cast<std::ptrdiff_t>(all.size() / 2);
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + half, cut.begin()));
  EXPECT_FALSE(std::equal(all.begin() + half, all.end(), cut.begin() + half));
}

// The tests' own test: sinks that queries meet as they are, a window that is off by one, and a gap
// that is.
TEST_P(Windows, WhatIsOffByOneIsSeen) {
  const Sequences sequences(GetParam(), {150}, 4);
  const Rows q = Queries(1);
  const Asked asked{.own = {.window = 30, .sinks = 4}, .pages = Asked::Pages::kSeen};
  const Row got = sequences.Attend(q, asked);
  for (const KeyWindow& other : {KeyWindow{31, 4}, KeyWindow{29, 4}, KeyWindow{30, 3}})
    EXPECT_THAT(got, Not(Pointwise(DoubleNear(AttentionBound(GetParam().format)),
                                   sequences.Reference(q, {.own = other}))));
  Sequences shifted(GetParam(), {150}, 4);
  std::vector<std::int32_t>& table = shifted.table(0);
  std::rotate(table.begin(), table.begin() + 1, table.end());
  EXPECT_THAT(shifted.Attend(q, asked), Not(Pointwise(DoubleNear(AttentionBound(GetParam().format)),
                                                      sequences.Reference(q, asked))));
}

TEST(WindowsPlan, WorkDoesNotGrowWithThePosition) {
  const KeyWindow window{.window = 300, .sinks = 4};
  std::vector<std::size_t> items;
  for (const std::int64_t position : {100 * kChunkKeys, 4'000'000 * kChunkKeys}) {
    const std::vector<std::int32_t> table(30, 0);
    const std::int64_t behind = window.first_key(position) / 16;
    const RowRun run{.rows = 2,
                     .first_position = position,
                     .pages = table,
                     .window = window,
                     .front_pages = 1,
                     .dropped_pages = behind - 1};
    AttentionPlan plan;
    plan.Make({&run, 1}, {.kv_heads = 1, .head_dim = 8, .page_size = 16}, 0, 1);
    items.push_back(plan.items.size());
    EXPECT_THAT(plan.sink_rows, ElementsAre(0, 1));
    EXPECT_THAT(plan.sink_turns, ElementsAre(303 - position, 302 - position));
    EXPECT_EQ(plan.items[0].reads, AttentionReads::kSinks);
    EXPECT_EQ(plan.items[1].first_key, (position - 299) / kChunkKeys * kChunkKeys);
  }
  EXPECT_EQ(items[0], items[1]);
}

TEST(WindowsPlan, OnlyRowsThatAreCutMeetSinksAtADistance) {
  const std::vector<std::int32_t> table(4, 0);
  const RowRun run{
      .rows = 4, .first_position = 10, .pages = table, .window = {.window = 8, .sinks = 4}};
  AttentionPlan plan;
  plan.Make({&run, 1}, {.kv_heads = 1, .head_dim = 8, .page_size = 16}, 0, 1);
  EXPECT_THAT(plan.sink_rows, ElementsAre(2, 3));
  EXPECT_THAT(plan.first_item, ElementsAre(0, 1, 2, 4, 6));
}

TEST(WindowsPlanDeathTest, ALayerOrARunHasAWindow) {
  const std::vector<std::int32_t> table(4, 0);
  const RowRun run{.rows = 1, .first_position = 10, .pages = table, .window = {.window = 8}};
  AttentionPlan plan;
  EXPECT_DEATH(plan.Make({&run, 1}, {.kv_heads = 1, .head_dim = 8, .page_size = 16}, 5, 1),
               "layer or run has a window");
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
