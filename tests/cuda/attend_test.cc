// Paged attention against double precision, over formats and shapes; and that a row has the same
// bits whatever attends with it.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cuda/rig.h"

namespace banyan::kernels::cuda::testing {
namespace {

// How rows may attend: in pieces of a chunk, or each to all that it sees.
constexpr TileRules kByChunks{.whole_blocks = 1000};
constexpr TileRules kWhole{.whole_blocks = 0};

// Of seeds that no keys have: a query that is a key sees little else.
Rows Queries(const Heads& h, std::int32_t count, std::uint32_t seed) {
  return RandomRows(count, h.heads * h.head_dim, 1000 + seed);
}

std::string NameOf(const Heads& h) {
  return std::to_string(h.heads) + "/" + std::to_string(h.kv_heads) + " heads of " +
         std::to_string(h.head_dim) + ", pages of " + std::to_string(h.page_size) + ", " +
         std::string(LayoutOf(h.format).name);
}

double WorstError(const Row& got, const std::vector<double>& expected) {
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = std::fabs(got[i] - expected[i]);
    worst = std::isnan(error) ? INFINITY : std::max(worst, error);
  }
  return worst;
}

void ExpectNear(const Heads& h, const std::vector<std::int32_t>& lengths, std::int32_t rows,
                std::int64_t window = 0) {
  SCOPED_TRACE(NameOf(h) + ", window " + std::to_string(window));
  const Sequences sequences(h, lengths, 1);
  const Rows q = Queries(h, rows * static_cast<std::int32_t>(lengths.size()), 2);
  const Asked asked{.rows = rows, .window = window};
  EXPECT_LE(WorstError(sequences.Attend(q, asked), sequences.Reference(q, asked)),
            AttentionBound(h.format));
}

TEST(Attend, MatchesDoublePrecisionInEveryFormatAndHeadSize) {
  for (const KvFormat format : kPageFormats)
    for (const std::int32_t head_dim : {8, 24, 64, 80, 96, 128, 256})
      ExpectNear({2, 1, head_dim, 16, format}, {37}, 2);
}

TEST(Attend, MatchesForEverySizeOfGroups) {
  for (const std::int32_t group : {1, 2, 3, 4, 5, 8, 9, 16, 33, 64})
    ExpectNear({2 * group, 2, 16, 16, KvFormat::kF16}, {21}, 3);
}

TEST(Attend, MatchesForEverySizeOfPages) {
  for (const KvFormat format : {KvFormat::kBf16, KvFormat::kInt8})
    for (const std::int32_t page_size : {1, 2, 3, 16, 64})
      ExpectNear({2, 1, 8, page_size, format}, {67}, 1);
}

TEST(Attend, MatchesAroundTheBordersOfChunks) {
  ExpectNear({1, 1, 8, 16, KvFormat::kF16},
             {1, 2, kChunkKeys - 1, kChunkKeys, kChunkKeys + 1, 2 * kChunkKeys + 3}, 1);
}

TEST(Attend, SeesTheWindowAndNothingBefore) {
  for (const std::int64_t window : {1, 5, kChunkKeys - 1, kChunkKeys, kChunkKeys + 1, 1000})
    ExpectNear({2, 1, 8, 16, KvFormat::kF16}, {3, 2 * kChunkKeys + 9}, 3, window);
}

// Rows that attend by chunks, whole, a few at once, and each of them alone.
void ExpectSameBits(const Heads& h, std::int32_t rows, std::int64_t window = 0) {
  SCOPED_TRACE(NameOf(h) + ", window " + std::to_string(window));
  const std::vector<std::int32_t> lengths{kChunkKeys + rows / 2, rows, 70};
  const Sequences sequences(h, lengths, 3);
  const Rows q = Queries(h, 3 * rows, 4);
  const Row whole = sequences.Attend(q, {.rows = rows, .window = window, .rules = kWhole});
  EXPECT_EQ(sequences.Attend(q, {.rows = rows, .window = window, .rules = kByChunks}), whole);
  EXPECT_EQ(
      sequences.Attend(
          q, {.rows = rows, .window = window, .rules = {.whole_blocks = 1000, .max_items = 5}}),
      whole);
  const std::int32_t cols = h.heads * h.head_dim;
  for (std::int32_t s = 0; s < 3; ++s) {
    for (const std::int32_t row : {0, rows / 2 - 1, rows / 2, rows - 1}) {
      const Row alone = sequences.AttendAlone({q[s * rows + row]}, s,
                                              {.behind = rows - 1 - row, .window = window});
      EXPECT_TRUE(std::equal(alone.begin(), alone.end(), whole.begin() + (s * rows + row) * cols))
          << "row " << row << " of sequence " << s;
    }
  }
}

TEST(Attend, ARowsBitsDoNotDependOnWhoAttendsWithIt) {
  for (const KvFormat format : kPageFormats) ExpectSameBits({4, 2, 64, 16, format}, 20);
  for (const std::int32_t head_dim : {80, 128, 256})
    ExpectSameBits({2, 1, head_dim, 16, KvFormat::kF16}, 16);
  for (const std::int32_t group : {1, 5, 16, 33})
    ExpectSameBits({group, 1, 16, 16, KvFormat::kInt8}, 16);
  for (const std::int32_t page_size : {1, 3, 64})
    ExpectSameBits({2, 1, 16, page_size, KvFormat::kFp8}, 36);
  for (const std::int64_t window : {1, 33, 256})
    ExpectSameBits({2, 1, 16, 16, KvFormat::kF16}, 36, window);
}

TEST(Attend, ASharedPrefixIsReadOnceToTheSameBits) {
  for (const std::int32_t group : {1, 4}) {
    const Heads h{group, 1, 16, 32, KvFormat::kF16};
    Sequences sequences(h, {530, 600, 270, 40}, 9);
    sequences.ShareFirstPages(1);
    const Rows q = Queries(h, 4, 10);
    Sequences shared(h, {530, 600, 530, 550}, 9);
    shared.ShareFirstPages(kChunkKeys / 32 + 3);
    for (const Sequences* of : {&sequences, &shared}) {
      const Row together = of->Attend(q, {});
      EXPECT_LE(WorstError(together, of->Reference(q, {})), AttentionBound(h.format));
      for (std::int32_t s = 0; s < 4; ++s) {
        const Row alone = of->AttendAlone({q[s]}, s, {});
        EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + s * group * 16));
      }
    }
  }
}

TEST(Attend, AValueThatIsNotFiniteShowsToThoseThatSeeItAndToNoOther) {
  constexpr std::int32_t kRows = 20;
  constexpr std::int32_t kSpoiled = 9;
  for (const KvFormat format : kPageFormats) {
    const Heads h{2, 1, 16, 16, format};
    SCOPED_TRACE(NameOf(h));
    const Sequences sound(h, {50}, 11);
    const Sequences spoiled(h, {50}, 11, 50 - kRows + kSpoiled);
    const Rows q = Queries(h, kRows, 12);
    for (const TileRules& rules : {kByChunks, kWhole}) {
      const Row expected = sound.Attend(q, {.rows = kRows, .rules = rules});
      const Row got = spoiled.Attend(q, {.rows = kRows, .rules = rules});
      const auto seen = static_cast<std::ptrdiff_t>(kSpoiled) * 2 * 16;
      EXPECT_TRUE(std::equal(got.begin(), got.begin() + seen, expected.begin()));
      for (auto row = got.begin() + seen; row != got.end(); row += 2 * 16)
        EXPECT_FALSE(std::all_of(row, row + 16, [](float x) { return std::isfinite(x); }));
    }
  }
}

// The test's own test.
TEST(Attend, APageThatIsOneOffIsSeen) {
  const Heads h{2, 1, 64, 16, KvFormat::kF16};
  Sequences sequences(h, {64}, 7);
  const Rows q = Queries(h, 1, 8);
  const std::vector<double> expected = sequences.Reference(q, {});
  EXPECT_LE(WorstError(sequences.Attend(q, {}), expected), AttentionBound(h.format));
  std::vector<std::int32_t>& table = sequences.table(0);
  table[1] = table[2];
  EXPECT_GT(WorstError(sequences.Attend(q, {}), expected), 20 * AttentionBound(h.format));
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
