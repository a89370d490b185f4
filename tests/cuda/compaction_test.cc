// Which slots survive where not all are kept, beside the CPU backend: the same ones, byte for byte,
// head by head, and sequences go on behind them alike.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cuda/both_backends.h"
#include "tests/cuda/rig.h"

namespace banyan::kernels::testing {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

struct Kind {
  KvFormat format = KvFormat::kF16;
  int page_size = 5;  // pages that are not whole tiles have one order of keys on both
  int group = 1;
};

using Table = std::vector<std::int32_t>;

constexpr int kLayers = 2;
constexpr int kKvHeads = 2;
constexpr int kHeadDim = 16;
constexpr int kPages = 240;

Table PagesFrom(int first, int count) {
  Table table(static_cast<std::size_t>(count));
  std::iota(table.rbegin(), table.rend(), first);
  return table;
}

// Sequences of random tokens on one backend; what is random is a function of layer and position.
template <class B>
class Stage {
 public:
  Stage(const Kind& kind, std::unique_ptr<B> backend) : kind_(kind), backend_(std::move(backend)) {
    EXPECT_TRUE(backend_->AllocatePages(
        {kLayers, kKvHeads, kHeadDim, kind.page_size, kPages, kind.format}));
  }

  // What the rows attend to, layer after layer.
  Rows Step(std::span<const RowRun> runs) {
    Rows out;
    for (std::int32_t layer = 0; layer < kLayers; ++layer) {
      auto q = Load(*backend_, RowsOf(runs, layer, 0, kKvHeads * kind_.group, 1.5F));
      auto k = Load(*backend_, RowsOf(runs, layer, 1, kKvHeads, 1.0F));
      const auto v = Load(*backend_, RowsOf(runs, layer, 2, kKvHeads, 1.0F));
      const Rope rope{.dims = kHeadDim};
      const AttentionSpan span{.scale = 0.3F, .rope = &rope};
      backend_->RopeAndStore(q, k, v, rope, runs, layer);
      backend_->Observe(q, span, runs, layer);
      const Rows rows = Attended(*backend_, q, span, runs, layer);
      out.insert(out.end(), rows.begin(), rows.end());
    }
    return out;
  }
  Rows Step(const RowRun& run) { return Step(std::span(&run, 1)); }

  void Compact(const KvCompaction& compaction) { backend_->Compact({&compaction, 1}); }

  std::vector<std::byte> Bytes(std::span<const std::int32_t> table) {
    const KvShape shape{kLayers, kKvHeads, kHeadDim, kind_.page_size, kPages, kind_.format};
    const std::int64_t written = BytesPerToken(shape) * kind_.page_size / kLayers;
    std::vector<std::byte> bytes;
    for (const std::int32_t page : table) {
      std::vector<std::byte> of_page(backend_->page_bytes());
      backend_->ReadPage(page, of_page);
      for (std::int32_t layer = 0; layer < kLayers; ++layer) {  // which are padded
        const auto at = of_page.begin() + layer * std::ssize(of_page) / kLayers;
        bytes.insert(bytes.end(), at, at + written);
      }
    }
    return bytes;
  }

 private:
  static Rows RowsOf(std::span<const RowRun> runs, std::int32_t layer, int what, int heads,
                     float scale) {
    Rows rows;
    for (const RowRun& run : runs) {
      for (std::int64_t at = run.first_position; at < run.first_position + run.rows; ++at) {
        const auto seed = static_cast<std::uint32_t>((at * kLayers + layer) * 3 + what);
        rows.push_back(RandomRows(1, heads * kHeadDim, seed, scale)[0]);
        for (float& x : rows.back()) x = Half(x);
      }
    }
    return rows;
  }

  Kind kind_;
  std::unique_ptr<B> backend_;
};

// The same on both: what is attended to is near, and pages are the same.
class Both {
 public:
  explicit Both(const Kind& kind)
      : bound_(static_cast<float>(cuda::testing::AttentionBound(kind.format))),
        cpu_(kind, MakeCpu()),
        cuda_(kind, MakeCuda()) {}

  void Step(std::span<const RowRun> runs) {
    const Rows expected = cpu_.Step(runs);
    const Rows got = cuda_.Step(runs);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t row = 0; row < got.size(); ++row)
      ASSERT_THAT(got[row], Pointwise(FloatNear(bound_), expected[row])) << "row " << row;
  }
  void Step(const RowRun& run) { Step(std::span(&run, 1)); }
  // Whole pages survive.
  void Compact(const KvCompaction& compaction) {
    cpu_.Compact(compaction);
    cuda_.Compact(compaction);
    EXPECT_EQ(cuda_.Bytes(compaction.to), cpu_.Bytes(compaction.to));
  }
  std::vector<std::byte> Bytes(const Table& table) { return cuda_.Bytes(table); }

 private:
  float bound_;
  Stage<CpuBackend> cpu_;
  Stage<CudaBackend> cuda_;
};

class Compactions : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Compactions,
                         ::testing::Values(Kind{.page_size = 1}, Kind{.group = 3},
                                           Kind{.format = KvFormat::kBf16, .group = 9},
                                           Kind{.format = KvFormat::kFp8, .group = 2},
                                           Kind{.format = KvFormat::kInt8, .group = 3}),
                         [](const auto& test) {
                           return std::string(LayoutOf(test.param.format).name) + "_" +
                                  std::to_string(test.param.page_size) + "_" +
                                  std::to_string(test.param.group);
                         });

constexpr int kSlots = 110;
constexpr KeepRule kRule{.budget = 35, .recent = 9, .sinks = 2, .history = 20, .pooled = 3};

// Of the slots that are most important more and more, so that their order is compared, too.
TEST_P(Compactions, KeepWhatTheCpusDo) {
  const int size = GetParam().page_size;
  for (const SlotImportance by : {SlotImportance::kSum, SlotImportance::kHistory}) {
    for (const std::int64_t budget : {15, 35, 100}) {
      KeepRule rule = kRule;
      rule.budget = budget;
      Both both(GetParam());
      const Table from = PagesFrom(0, kSlots / size);
      const Table to =
          PagesFrom(kPages - static_cast<int>(budget) / size, static_cast<int>(budget) / size);
      // In steps, from within a step on.
      const Observation seen{.observer = 3, .from = 67, .by = by};
      for (const auto& [first, rows] : {std::pair(0, 75), {75, 1}, {76, kSlots - 76}})
        both.Step({.rows = rows, .first_position = first, .pages = from, .observation = seen});
      both.Compact({.observer = 3, .from = from, .slots = kSlots, .to = to, .keep = rule});
    }
  }
}

// Heads choose for themselves, and what is in place before.
TEST_P(Compactions, GoOnInPlace) {
  const int size = GetParam().page_size;
  for (const SlotImportance by : {SlotImportance::kSum, SlotImportance::kHistory}) {
    Both both(GetParam());
    const int slots = 55;
    const Table table = PagesFrom(0, 60 / size);
    Table front(table.begin(), table.begin() + kRule.budget / size);
    const Observation seen{.observer = 0, .from = 20, .by = by};
    both.Step({.rows = slots, .pages = table, .observation = seen});
    both.Compact({.observer = 0, .from = table, .slots = slots, .to = front, .keep = kRule});
    std::int64_t position = slots;
    for (int round = 0; round < 2; ++round) {
      for (const int rows : {9, 1}) {
        const std::int64_t slot = kRule.budget + (rows == 9 ? 0 : 9);
        both.Step({.rows = rows,
                   .first_position = position,
                   .pages = table,
                   .compacted = position - slot,
                   .observation = seen});
        position += rows;
      }
      both.Compact(
          {.observer = 0, .from = table, .slots = kRule.budget + 10, .to = front, .keep = kRule});
    }
  }
}

TEST_P(Compactions, KeepAllThatTheBudgetHolds) {
  const int size = GetParam().page_size;
  Both both(GetParam());
  const Table from = PagesFrom(0, 25 / size);
  const Table to = PagesFrom(30, 25 / size);
  both.Step({.rows = 25, .pages = from, .observation = {.observer = 0, .from = 24}});
  const std::vector<std::byte> before = both.Bytes(from);
  both.Compact(
      {.observer = 0, .from = from, .slots = 25, .to = to, .keep = {.budget = 25, .recent = 5}});
  EXPECT_EQ(both.Bytes(to), before);
}

// Two observers in a step beside rows that nobody observes; one that is used again forgets.
TEST_P(Compactions, ObserversAreApart) {
  const int size = GetParam().page_size;
  Both both(GetParam());
  const Table a = PagesFrom(0, 20 / size);
  const Table b = PagesFrom(20, 20 / size);
  const Table c = PagesFrom(40, 20 / size);
  for (int round = 0; round < 2; ++round) {
    const RowRun runs[] = {
        {.first_row = 0, .rows = 20, .pages = a, .observation = {.observer = 7}},
        {.first_row = 20, .rows = 7, .first_position = 3 * round, .pages = c},
        {.first_row = 27,
         .rows = 20,
         .pages = b,
         .observation = {.observer = 2, .from = 9, .by = SlotImportance::kHistory}}};
    both.Step(runs);
    const KeepRule rule{.budget = 10, .recent = 2, .history = 8};
    Table front_a(a.begin(), a.begin() + 10 / size);
    Table front_b(b.begin(), b.begin() + 10 / size);
    both.Compact({.observer = 7, .from = a, .slots = 20, .to = front_a, .keep = rule});
    both.Compact({.observer = 2, .from = b, .slots = 20, .to = front_b, .keep = rule});
  }
}

TEST(CompactionsDeathTest, AreOfWhatWasObserved) {
  Stage<CudaBackend> stage({}, MakeCuda());
  const Table table = PagesFrom(0, 4);
  const Observation seen{.observer = 1};
  stage.Step({.rows = 10, .pages = table, .observation = seen});
  const KvCompaction sound{
      .observer = 1, .from = table, .slots = 10, .to = table, .keep = {.budget = 5}};
  KvCompaction other = sound;
  other.observer = 2;
  EXPECT_DEATH(stage.Compact(other), "has an observer");
  other = sound;
  other.slots = 9;
  EXPECT_DEATH(stage.Compact(other), "were observed");
  other = sound;
  other.keep.recent = 6;
  EXPECT_DEATH(stage.Compact(other), "within its budget");
  EXPECT_DEATH(
      stage.Step({.rows = 1, .first_position = 12, .pages = table, .observation = {.observer = 1}}),
      "observed once");
  stage.Compact(sound);
}

}  // namespace
}  // namespace banyan::kernels::testing
