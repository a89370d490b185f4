// What rows note of the slots that they see, against softmax in double.
#include "kernels/cpu/observers.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/observed.h"

namespace banyan::kernels::testing {
namespace {

constexpr Observation kSum = {.observer = 3, .from = 40};
constexpr Observation kHistory = {.observer = 3, .from = 40, .by = SlotImportance::kHistory};

std::string NameOf(const ObservedKind& kind) {
  return std::string(LayoutOf(kind.format).name) + "_" + std::to_string(kind.page_size) + "_" +
         std::to_string(kind.group);
}

// All that an observer of `observed` knows.
std::vector<std::vector<float>> All(const Observed& observed, std::int32_t observer) {
  std::vector<std::vector<float>> all;
  for (std::int32_t layer = 0; layer < Observed::kLayers; ++layer)
    for (std::int32_t h = 0; h < Observed::kKvHeads; ++h)
      all.push_back(observed.observers.Importance(observer, layer, h));
  return all;
}

class ObservedRows : public ::testing::TestWithParam<ObservedKind> {};
INSTANTIATE_TEST_SUITE_P(
    Kinds, ObservedRows,
    ::testing::Values(ObservedKind{KvFormat::kF16, 1, 1}, ObservedKind{KvFormat::kF16, 5, 3},
                      ObservedKind{KvFormat::kF16, 16, 3}, ObservedKind{KvFormat::kF16, 64, 8},
                      ObservedKind{KvFormat::kBf16, 16, 3}, ObservedKind{KvFormat::kBf16, 5, 1},
                      ObservedKind{KvFormat::kFp8, 16, 3}, ObservedKind{KvFormat::kFp8, 1, 3},
                      ObservedKind{KvFormat::kInt8, 16, 3}, ObservedKind{KvFormat::kInt8, 5, 3}),
    [](const auto& test) { return NameOf(test.param); });

TEST_P(ObservedRows, SumWhatTheirHeadsPay) {
  constexpr int kRows = 75;
  Observed observed(GetParam());
  const auto table = observed.Take(kRows);
  observed.Run({.rows = kRows, .pages = table, .observation = kSum});
  for (std::int32_t layer = 0; layer < Observed::kLayers; ++layer) {
    for (std::int32_t h = 0; h < Observed::kKvHeads; ++h) {
      std::vector<double> expected(kRows);
      for (int position = 40; position < kRows; ++position) {
        const auto row = observed.Probabilities(table, layer, h, position, position + 1);
        for (std::size_t i = 0; i < row.size(); ++i) expected[i] += row[i];
      }
      const std::vector<float> sums = observed.observers.Importance(3, layer, h);
      ASSERT_EQ(sums.size(), expected.size());
      for (std::size_t i = 0; i < sums.size(); ++i)
        EXPECT_NEAR(sums[i], expected[i], 1e-5 + 1e-4 * expected[i])
            << layer << " " << h << " " << i;
    }
  }
}

TEST_P(ObservedRows, CountWhoWasGivenTheMean) {
  constexpr int kRows = 130;
  Observed observed(GetParam());
  const auto table = observed.Take(kRows);
  observed.Run({.rows = kRows, .pages = table, .observation = kHistory});
  int undecided = 0;
  for (const std::int32_t history : {1, 7, 64}) {
    std::vector<int> least(kRows);
    std::vector<int> most(kRows);
    for (int position = kRows - history; position < kRows; ++position) {
      const auto row = observed.Probabilities(table, 1, 1, position, position + 1);
      const double mean = static_cast<double>(GetParam().group) / (position + 1);
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i] >= mean * (1 + 1e-4)) ++least[i];
        if (row[i] >= mean * (1 - 1e-4)) ++most[i];
      }
    }
    const std::vector<float> counts = observed.observers.Importance(3, 1, 1, history);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      EXPECT_GE(counts[i], static_cast<float>(least[i])) << history << " " << i;
      EXPECT_LE(counts[i], static_cast<float>(most[i])) << history << " " << i;
      undecided += least[i] == most[i] ? 0 : 1;
    }
  }
  EXPECT_LT(undecided, 20);
}

// Of chunks, threads, pages and neighbours.
TEST(Observers, NoteTheSameBitsHoweverRowsAreCut) {
  constexpr int kRows = 90;
  for (const Observation& observation : {kSum, kHistory}) {
    for (const std::int32_t page_size : {16, 64, 5, 1}) {
      Observed whole({.page_size = 16, .group = 3});
      whole.Run({.rows = kRows, .pages = whole.Take(kRows), .observation = observation});
      const auto expected = All(whole, 3);
      for (const std::int32_t rows : {1, 7, 41, kRows}) {
        Observed cut({.page_size = page_size, .group = 3}, 1 + rows % 3);
        const auto table = cut.Take(kRows);
        cut.RunChunks({.rows = kRows, .pages = table, .observation = observation}, rows);
        EXPECT_EQ(All(cut, 3), expected) << page_size << " " << rows;
      }
    }
  }
}

TEST(Observers, NoteTheSameBesideOthers) {
  Observed alone({.group = 3});
  const auto table = alone.Take(70);
  alone.Run({.rows = 60, .pages = table, .observation = kSum});
  alone.Run({.rows = 1, .first_position = 60, .pages = table, .observation = kSum});
  Observed beside({.group = 3}, 3);
  const auto first = beside.Take(70);
  const auto second = beside.Take(100);
  const auto third = beside.Take(20);
  beside.Run(std::vector<RowRun>{
      {.first_row = 0, .rows = 90, .pages = second, .observation = {.observer = 0, .from = 80}},
      {.first_row = 90, .rows = 60, .pages = first, .observation = kSum},
      {.first_row = 150, .rows = 7, .pages = third}});
  beside.Run(std::vector<RowRun>{
      {.first_row = 0, .rows = 1, .first_position = 60, .pages = first, .observation = kSum},
      {.first_row = 1,
       .rows = 9,
       .first_position = 90,
       .pages = second,
       .observation = {.observer = 0, .from = 80}}});
  EXPECT_EQ(All(beside, 3), All(alone, 3));
}

TEST(Observers, BeginAnewWhereTheyAreAsked) {
  Observed observed({});
  const auto table = observed.Take(60);
  observed.Run({.rows = 50, .pages = table, .observation = kSum});
  const auto first = All(observed, 3);
  // Another kind, and other tokens.
  observed.Run({.rows = 60, .pages = table, .observation = {3, 30, SlotImportance::kHistory}});
  EXPECT_NE(All(observed, 3), first);
  observed.Run({.rows = 50, .pages = table, .observation = kSum});
  EXPECT_EQ(All(observed, 3), first);
}

// Whatever was noted before, of whichever kind.
TEST(Observers, TakeTheMemoryOfTheSequenceThatTheyObserve) {
  constexpr int kRows = 8;
  const auto bytes_of = [](const Observation& before, const Observation& now) {
    Observed observed({});
    if (before.is_made()) {
      const auto table = observed.Take(300);
      observed.Run({.rows = 300, .pages = table, .observation = before});
    }
    const auto table = observed.Take(kRows);
    observed.Run({.rows = kRows, .pages = table, .observation = now});
    return observed.observers.bytes();
  };
  for (const auto by : {SlotImportance::kSum, SlotImportance::kHistory}) {
    const Observation now = {.observer = 3, .by = by};
    const std::int64_t alone = bytes_of({}, now);
    const std::int64_t each = by == SlotImportance::kSum ? 4 : 8;
    EXPECT_EQ(alone, kRows * each * Observed::kLayers * Observed::kKvHeads);
    EXPECT_EQ(bytes_of(kSum, now), alone);
    EXPECT_EQ(bytes_of(kHistory, now), alone);
  }
}

TEST(Observers, NothingIsNotedBeforeTheFirstRow) {
  Observed observed({});
  const auto table = observed.Take(60);
  observed.Run({.rows = 40, .pages = table, .observation = kSum});
  EXPECT_DEATH(observed.observers.Importance(3, 0, 0), "no such observer");
  observed.Run({.rows = 1, .first_position = 40, .pages = table, .observation = kSum});
  double sum = 0;
  for (const float p : observed.observers.Importance(3, 0, 0)) sum += p;
  EXPECT_NEAR(sum, 1, 1e-5);
}

// A NaN key makes everything NaN that sees it. What was noted before stays.
TEST(Observers, NoteNothingThatIsNoNumber) {
  for (const KvFormat format : kKvFormats) {
    if (SealsPages(format)) continue;
    Observed observed({.format = format, .group = 3});
    observed.SpoilKey(50);
    const auto table = observed.Take(60);
    observed.Run({.rows = 50, .pages = table, .observation = kSum});
    const auto before = All(observed, 3);
    observed.Run({.rows = 10, .first_position = 50, .pages = table, .observation = kSum});
    auto after = All(observed, 3);
    for (std::vector<float>& slots : after) {
      EXPECT_THAT(std::vector<float>(slots.begin() + 50, slots.end()), ::testing::Each(0.0F));
      slots.resize(50);
    }
    EXPECT_EQ(after, before) << LayoutOf(format).name;
  }
}

TEST(Observers, OneHeadThatIsNoNumberKeepsSilence) {
  Observed observed({.group = 3});
  observed.SpoilQuery(45, 1);
  const auto table = observed.Take(46);
  observed.Run({.rows = 46, .pages = table, .observation = {3, 45, SlotImportance::kSum}});
  for (const std::int32_t h : {0, 1}) {
    double sum = 0;
    for (const float p : observed.observers.Importance(3, 0, h)) sum += p;
    EXPECT_NEAR(sum, h == 0 ? 2 : 3, 1e-5);
  }
}

TEST(ObserversDeathTest, EachTokenIsObservedOnce) {
  Observed observed({});
  const auto table = observed.Take(100);
  observed.Run({.rows = 50, .pages = table, .observation = kSum});
  const auto run = [&](const RowRun& rows) { observed.Run(rows); };
  EXPECT_DEATH(run({.rows = 1, .first_position = 51, .pages = table, .observation = kSum}),
               "observed once");
  EXPECT_DEATH(run({.rows = 1, .first_position = 49, .pages = table, .observation = kSum}),
               "observed once");
  EXPECT_DEATH(run({.rows = 1, .first_position = 50, .pages = table, .observation = kHistory}),
               "one kind of importance");
  Observation beyond = kSum;
  beyond.observer = Observation::kMaxObservers;
  EXPECT_DEATH(run({.rows = 50, .pages = table, .observation = beyond}), "no such observer");
  beyond.observer = Observation::kMaxObservers - 1;
  run({.rows = 50, .pages = table, .observation = beyond});
}

}  // namespace
}  // namespace banyan::kernels::testing
