// Paged attention by chunks of keys against double precision, over formats and shapes.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/emulation/trial.h"
#include "tests/cuda/rig.h"

namespace banyan::kernels::cuda::testing {
namespace {

using emulation::Trial;
using ::testing::IsEmpty;

constexpr std::int32_t kChunk = AttentionItem::kChunkKeys;

// Of seeds that no keys have: a query that is a key sees little else.
Rows Queries(const Heads& h, std::int32_t count, std::uint32_t seed) {
  return RandomRows(count, h.heads * h.head_dim, 1000 + seed, 2.0F);
}

double WorstError(const Row& got, const std::vector<double>& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(got[i] - expected[i]);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

// Values are about 1, their weighted means less: this is some tens of a float's steps.
constexpr double kBound = 4e-6;

void ExpectExact(const Heads& h, const std::vector<std::int32_t>& lengths, std::int32_t rows,
                 std::int64_t window = 0) {
  SCOPED_TRACE(std::to_string(h.heads) + "/" + std::to_string(h.kv_heads) + " heads of " +
               std::to_string(h.head_dim) + ", pages of " + std::to_string(h.page_size) + ", " +
               std::string(LayoutOf(h.format).name) + ", window " + std::to_string(window));
  const Sequences sequences(h, lengths, 1);
  const Rows q = Queries(h, rows * static_cast<std::int32_t>(lengths.size()), 2);
  const Asked asked{.rows = rows, .window = window};
  EXPECT_LE(WorstError(sequences.Attend(q, asked), sequences.Reference(q, asked)), kBound);
}

TEST(Attend, MatchesDoublePrecisionInEveryFormatAndHeadSize) {
  for (const KvFormat format : kPageFormats)
    for (const std::int32_t head_dim : {8, 64, 80, 96, 128, 256})
      ExpectExact({2, 1, head_dim, 16, format}, {37}, 2);
}

TEST(Attend, MatchesForEverySizeOfGroups) {
  for (const std::int32_t group : {1, 2, 3, 4, 5, 8, 9, 16})
    ExpectExact({2 * group, 2, 64, 16, KvFormat::kF16}, {21}, 1);
}

TEST(Attend, MatchesForEverySizeOfPages) {
  for (const KvFormat format : {KvFormat::kBf16, KvFormat::kInt8})
    for (const std::int32_t page_size : {1, 2, 3, 16, 64})
      ExpectExact({2, 1, 8, page_size, format}, {67}, 1);
}

TEST(Attend, MatchesAroundTheBordersOfChunks) {
  ExpectExact({1, 1, 8, 16, KvFormat::kF16}, {1, 2, kChunk - 1, kChunk, kChunk + 1, 2 * kChunk + 3},
              1);
}

TEST(Attend, SeesTheWindowAndNothingBefore) {
  for (const std::int64_t window : {1, 5, kChunk - 1, kChunk, kChunk + 1, 4 * kChunk})
    ExpectExact({2, 1, 8, 16, KvFormat::kF16}, {3, 2 * kChunk + 9}, 3, window);
}

TEST(Attend, ARowsBitsDoNotDependOnItsBatch) {
  const Heads h{4, 2, 64, 16, KvFormat::kF16};
  const Sequences sequences(h, {300, 5, 70}, 3);
  const Rows q = Queries(h, 6, 4);
  const Row together = sequences.Attend(q, {.rows = 2});
  for (std::int32_t s = 0; s < 3; ++s) {
    const Row alone = sequences.AttendAlone(q, s, {.rows = 2});
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(),
                           together.begin() + static_cast<std::ptrdiff_t>(alone.size()) * s));
  }
}

TEST(Attend, BitsDoNotDependOnTheOrderOfThreadsAndNothingRaces) {
  const Heads h{4, 2, 64, 16, KvFormat::kInt8};
  const Sequences sequences(h, {300, 33}, 5);
  const Rows q = Queries(h, 2, 6);
  const Row expected = sequences.Attend(q, {});
  for (std::uint64_t seed = 0; seed < 2; ++seed) {
    Trial trial({.seed = seed});
    EXPECT_EQ(sequences.Attend(q, {}), expected);
    EXPECT_THAT(trial.failures(), IsEmpty());
  }
}

// The test's own test.
TEST(Attend, APageThatIsOneOffIsSeen) {
  const Heads h{2, 1, 64, 16, KvFormat::kF16};
  Sequences sequences(h, {64}, 7);
  const Rows q = Queries(h, 1, 8);
  const std::vector<double> expected = sequences.Reference(q, {});
  EXPECT_LE(WorstError(sequences.Attend(q, {}), expected), kBound);
  std::vector<std::int32_t>& table = sequences.table(0);
  table[1] = table[2];
  EXPECT_GT(WorstError(sequences.Attend(q, {}), expected), 100 * kBound);
}

TEST(AttentionPlan, HasAnItemForEveryChunkThatIsSeen) {
  const std::vector<std::int32_t> pages(100, 0);
  const RowRun runs[] = {{.first_row = 0, .rows = 2, .first_position = kChunk - 1, .pages = pages},
                         {.first_row = 2, .rows = 1, .first_position = 3 * kChunk, .pages = pages}};
  AttentionPlan plan;
  plan.Make(runs, {.page_size = 16}, 0);
  EXPECT_THAT(plan.first_item, ::testing::ElementsAre(0, 1, 3, 7));
  plan.Make(runs, {.page_size = 16}, 2);
  EXPECT_THAT(plan.first_item, ::testing::ElementsAre(0, 1, 3, 5));
  EXPECT_EQ(plan.items.back().first_key, 3 * kChunk);
  EXPECT_EQ(plan.items[3].first_key, 2 * kChunk);
  plan.Make(runs, {.page_size = 16}, 1);
  EXPECT_THAT(plan.first_item, ::testing::ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
