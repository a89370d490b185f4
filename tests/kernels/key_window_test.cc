// Windows of keys with attention sinks against double precision, and their bits under every way of
// cutting the work, beside runs without windows and with gaps in page tables or without.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/prefix_order.h"
#include "kernels/cpu/variants.h"
#include "tests/kernels/kept.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;
using ::testing::SizeIs;

using Table = std::vector<std::int32_t>;

Table Iota(std::int32_t first, std::int64_t count) {
  Table out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

// Rows at consecutive positions of one sequence.
struct Asked {
  Table pages{};  // the whole table, or what the gap leaves of it
  std::int64_t first_position = 0;
  std::int32_t rows = 1;
  KeyWindow window{};
  std::int64_t front = 0;
  std::int64_t dropped = 0;

  RowRun Run(std::int32_t first_row, std::int32_t first, std::int32_t count) const {
    return {first_row, count, first_position + first, pages, window, front, dropped};
  }
};

// They view `asked`.
std::vector<RowRun> RunsOf(std::span<const Asked> asked) {
  std::vector<RowRun> runs;
  for (const Asked& a : asked)
    runs.push_back(a.Run(runs.empty() ? 0 : runs.back().first_row + runs.back().rows, 0, a.rows));
  return runs;
}

// The gaps that a table may have at most: pages front .. behind - 1.
struct Gap {
  std::int64_t front = 0;
  std::int64_t behind = 0;
};
Gap GreatestGap(const Asked& asked, int page_size) {
  if (!asked.window.cuts(asked.first_position)) return {};
  return {(asked.window.sinks + page_size - 1) / page_size,
          asked.window.first_key(asked.first_position) / page_size};
}

Asked Drop(Asked asked, Gap gap) {
  if (gap.behind <= gap.front) return asked;
  asked.pages.erase(asked.pages.begin() + gap.front, asked.pages.begin() + gap.behind);
  asked.front = gap.front;
  asked.dropped = gap.behind - gap.front;
  return asked;
}

struct Shape {
  int heads;
  int kv_heads;
  int head_dim;
  int page_size;
  KvFormat format = KvFormat::kF16;
  RopePairs pairs = RopePairs::kNeighbours;
  int rope_dims = 8;
};

// A query as it is at `position`, and as the reference reads it.
std::vector<double> Roped(std::span<const float> query, const Rope& rope, double position) {
  std::vector<double> out(query.begin(), query.end());
  for (int pair = 0; pair < rope.dims / 2; ++pair) {
    const bool halves = rope.pairs == RopePairs::kHalves;
    const std::size_t a = halves ? pair : 2 * pair;
    const std::size_t b = halves ? pair + rope.dims / 2 : 2 * pair + 1;
    const double angle = position * static_cast<double>(rope.scale) *
                         std::pow(static_cast<double>(rope.base), -2.0 * pair / rope.dims);
    out[a] = query[a] * std::cos(angle) - query[b] * std::sin(angle);
    out[b] = query[a] * std::sin(angle) + query[b] * std::cos(angle);
  }
  return out;
}

// Attention over pages full of random numbers.
class Pool {
 public:
  static constexpr int kThreads = 4;

  Pool(const Shape& shape, int pages)
      : shape_(shape), rope_{.dims = shape.rope_dims, .base = 1000.0F, .pairs = shape.pairs} {
    EXPECT_TRUE(
        store_.Allocate({2, shape.kv_heads, shape.head_dim, shape.page_size, pages, shape.format}));
    const int heads = pages * shape.page_size * shape.kv_heads;
    keys_ = RandomRows(heads, shape.head_dim, 1);
    values_ = RandomRows(heads, shape.head_dim, 2);
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      const auto at = static_cast<std::int32_t>(i);
      const std::int32_t slot = at / shape.kv_heads;
      const Row key = InKeyBasis(shape.format, keys_[i]);
      store_.Store(ops_, key.data(), values_[i].data(), slot / shape.page_size, 1,
                   at % shape.kv_heads, slot % shape.page_size);
      keys_[i] = KeptKey(shape.format, keys_[i]);
      values_[i] = Kept(shape.format, values_[i]);
    }
  }

  // Queries that are not roped, by row of the runs.
  Rows Queries(std::span<const RowRun> runs) const {
    return RandomRows(runs.back().first_row + runs.back().rows, shape_.heads * shape_.head_dim, 3);
  }

  // Row i of the result is that of row i of the runs.
  Rows Attend(const Rows& queries, std::span<const RowRun> runs, int threads) {
    const std::size_t width = queries[0].size();
    Row q;
    for (const Row& row : queries) q.insert(q.end(), row.begin(), row.end());
    for (const RowRun& run : runs)
      for (int i = 0; i < run.rows; ++i) TurnRow(q, run.first_row + i, run.first_position + i);
    if (engines_[threads] == nullptr) engines_[threads] = std::make_unique<Engine>(ops_, threads);
    Row out(q.size());
    engines_[threads]->attention.Run({.pages = {.store = &store_},
                                      .layer = 1,
                                      .heads = shape_.heads,
                                      .span = {.scale = scale_, .rope = &rope_},
                                      .runs = runs,
                                      .q = q.data(),
                                      .out = out.data(),
                                      .stride = static_cast<std::int64_t>(width)});
    Rows rows;
    for (auto at = out.begin(); at != out.end(); at += static_cast<std::ptrdiff_t>(width))
      rows.emplace_back(at, at + static_cast<std::ptrdiff_t>(width));
    return rows;
  }

  Row Reference(const Asked& asked, std::int64_t position, const Row& query) const {
    const KeyWindow& window = asked.window;
    const std::int64_t capacity = window.sinks + window.window;
    const bool cut = window.window > 0 && position >= capacity;
    std::vector<std::int64_t> seen(cut ? static_cast<std::size_t>(window.sinks) : 0);
    std::iota(seen.begin(), seen.end(), 0);
    const std::size_t sinks = seen.size();
    for (std::int64_t key = cut ? position - window.window + 1 : 0; key <= position; ++key)
      seen.push_back(key);

    Row out;
    for (int head = 0; head < shape_.heads; ++head) {
      const auto own = std::span(query).subspan(head * shape_.head_dim, shape_.head_dim);
      const std::vector<double> to_window = Roped(own, rope_, static_cast<double>(position));
      const std::vector<double> to_sinks = Roped(own, rope_, static_cast<double>(capacity - 1));
      std::vector<double> weights;
      double sum = 0;
      for (std::size_t i = 0; i < seen.size(); ++i) {
        const Row& key = keys_[HeadAt(asked, seen[i], head)];
        const std::vector<double>& turned = i < sinks ? to_sinks : to_window;
        const double score = std::inner_product(turned.begin(), turned.end(), key.begin(), 0.0);
        sum += weights.emplace_back(std::exp(score * scale_));
      }
      for (int d = 0; d < shape_.head_dim; ++d) {
        double value = 0;
        for (std::size_t i = 0; i < seen.size(); ++i)
          value += weights[i] * values_[HeadAt(asked, seen[i], head)][d];
        out.push_back(static_cast<float>(value / sum));
      }
    }
    return out;
  }

  // Together on so many threads, and each row alone on one, of a table without a gap.
  void ExpectBitsOfEachAlone(const std::vector<Asked>& whole, const std::vector<Asked>& asked,
                             int threads) {
    const std::vector<RowRun> runs = RunsOf(asked);
    const Rows queries = Queries(runs);
    const Rows together = Attend(queries, runs, threads);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      for (std::int32_t row = 0; row < runs[i].rows; ++row) {
        const std::size_t at = static_cast<std::size_t>(runs[i].first_row + row);
        const RowRun run[] = {whole[i].Run(0, row, 1)};
        ASSERT_EQ(Attend({queries[at]}, run, 1)[0], together[at])
            << "run " << i << " of " << asked.size() << ", position " << run[0].first_position
            << ", sinks " << run[0].window.sinks << ", window " << run[0].window.window
            << ", threads " << threads;
      }
    }
  }

 private:
  struct Engine {
    Engine(const Ops& ops, int threads) : pool(threads), attention(ops, pool) {}
    ThreadPool pool;
    kernels::Attention attention;
  };

  std::size_t HeadAt(const Asked& asked, std::int64_t key, int head) const {
    const std::int32_t page = asked.Run(0, 0, asked.rows).page(key / shape_.page_size);
    const std::int64_t slot = std::int64_t{page} * shape_.page_size + key % shape_.page_size;
    return static_cast<std::size_t>(slot * shape_.kv_heads +
                                    head / (shape_.heads / shape_.kv_heads));
  }
  void TurnRow(Row& q, std::int32_t row, std::int64_t position) const {
    const std::span<float> heads =
        std::span(q).subspan(static_cast<std::size_t>(row) * shape_.heads * shape_.head_dim,
                             static_cast<std::size_t>(shape_.heads) * shape_.head_dim);
    for (int at = 0; at < std::ssize(heads); at += shape_.head_dim) {
      const auto head = heads.subspan(at, shape_.head_dim);
      std::ranges::copy(Roped(head, rope_, static_cast<double>(position)), head.begin());
      std::ranges::copy(InKeyBasis(shape_.format, head), head.begin());
    }
  }

  const Ops& ops_ = *FindCpuVariant(TestedVariant())->ops;
  const Shape shape_;
  const Rope rope_;
  const float scale_ = 1.0F / std::sqrt(static_cast<float>(shape_.head_dim));
  PageStore store_;
  Rows keys_;  // KeptKey, by page, slot and KV head
  Rows values_;
  std::unique_ptr<Engine> engines_[kThreads + 1];
};

class Windows : public ::testing::TestWithParam<Shape> {
 protected:
  int page_size() const { return GetParam().page_size; }
  int PagesFor(std::int64_t tokens) const {
    return static_cast<int>((tokens + page_size() - 1) / page_size());
  }
};
std::string NameOf(const ::testing::TestParamInfo<Shape>& test) {
  const Shape& shape = test.param;
  return std::string(LayoutOf(shape.format).name) + "_" + std::to_string(shape.page_size) + "_" +
         std::to_string(shape.heads) + "_" + std::to_string(shape.kv_heads) + "_" +
         std::to_string(shape.head_dim);
}
INSTANTIATE_TEST_SUITE_P(
    Shapes, Windows,
    ::testing::Values(Shape{4, 2, 8, 1}, Shape{4, 2, 8, 5}, Shape{4, 2, 8, 16}, Shape{4, 2, 8, 64},
                      Shape{4, 2, 8, 1024},
                      Shape{9, 3, 64, 16, KvFormat::kF16, RopePairs::kHalves, 64},
                      Shape{3, 3, 24, 32, KvFormat::kBf16, RopePairs::kHalves, 16},
                      Shape{5, 1, 16, 16, KvFormat::kFp8, RopePairs::kNeighbours, 16},
                      Shape{6, 2, 32, 16, KvFormat::kInt8, RopePairs::kNeighbours, 32},
                      Shape{71, 1, 8, 24, KvFormat::kInt8, RopePairs::kNeighbours, 0}),
    NameOf);

// Rows of one chunk of a prefill on both sides of where windows begin to cut.
TEST_P(Windows, AgreeWithDoublePrecision) {
  constexpr std::int32_t kRows = 70;
  Pool pool(GetParam(), PagesFor(64 + 200 + kRows));
  for (const std::int32_t sinks : {0, 1, 4, 16, 64}) {
    for (const std::int64_t window : {1, 7, 64, 100, 200}) {
      Asked asked = {.rows = kRows, .window = {.window = window, .sinks = sinks}};
      asked.first_position = std::max<std::int64_t>(0, asked.window.capacity() - 2);
      asked.pages = Iota(0, PagesFor(asked.first_position + kRows));
      std::ranges::reverse(asked.pages);
      const std::vector<RowRun> runs = RunsOf({&asked, 1});
      const Rows queries = pool.Queries(runs);
      const Rows results = pool.Attend(queries, runs, 2);
      for (const std::size_t row : {0, 1, 2, 3, 40, kRows - 1}) {
        const std::int64_t position = asked.first_position + static_cast<std::int64_t>(row);
        ASSERT_THAT(results[row],
                    Pointwise(FloatNear(4e-6F), pool.Reference(asked, position, queries[row])))
            << "sinks " << sinks << ", window " << window << ", position " << position;
      }
    }
  }
}

TEST_P(Windows, OfRowsAloneAndTogetherWithGapsAndWithout) {
  constexpr std::int32_t kRows = 50;
  Pool pool(GetParam(), PagesFor(64 + 300 + kRows));
  for (const std::int32_t sinks : {0, 1, 4, 64}) {
    for (const std::int64_t window : {1, 30, 64, 130}) {
      Asked asked = {.rows = kRows, .window = {.window = window, .sinks = sinks}};
      for (const std::int64_t past : {-20, 0, 1, 77}) {
        asked.first_position = std::max<std::int64_t>(0, asked.window.capacity() + past);
        asked.pages = Iota(0, PagesFor(asked.first_position + kRows));
        const int threads = 1 + static_cast<int>(window + past + 20) % Pool::kThreads;
        pool.ExpectBitsOfEachAlone({asked}, {Drop(asked, GreatestGap(asked, page_size()))},
                                   threads);
        if (HasFatalFailure()) return;
      }
    }
  }
}

// A sequence below the pages of another or of none, at any position of it.
Asked RandomAsked(const std::vector<Asked>& before, int page_size, int pages,
                  std::mt19937& random) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  Asked out;
  if (!before.empty() && below(5) != 0) {
    const Table& parent = before[static_cast<std::size_t>(below(std::ssize(before)))].pages;
    out.pages.assign(parent.begin(), parent.begin() + below(std::ssize(parent) + 1));
  }
  const std::int64_t own = below(3) == 0 ? 0 : below(300 / page_size + 2);
  for (std::int64_t i = 0; i < own || out.pages.empty(); ++i)
    out.pages.push_back(static_cast<std::int32_t>(below(pages)));
  const std::int64_t end = std::ssize(out.pages) * page_size - below(page_size);
  out.rows =
      static_cast<std::int32_t>(below(3) == 0 ? 1 + below(std::min<std::int64_t>(end, 30)) : 1);
  out.first_position = end - out.rows;
  if (below(3) != 0)
    out.window = {.window = 1 + below(150), .sinks = static_cast<std::int32_t>(below(65))};
  return out;
}

TEST_P(Windows, InRandomTreesOfRuns) {
  const int pages = 20 + 1000 / page_size();
  Pool pool(GetParam(), pages);
  std::mt19937 random(static_cast<std::uint32_t>(page_size()));
  for (int i = 0; i < 100; ++i) {
    std::vector<Asked> whole;
    const auto runs = 1 + random() % 7;
    while (whole.size() < runs) whole.push_back(RandomAsked(whole, page_size(), pages, random));
    std::shuffle(whole.begin(), whole.end(), random);
    std::vector<Asked> asked;
    for (const Asked& a : whole) {
      Gap gap = GreatestGap(a, page_size());
      if (random() % 3 == 0) ++gap.front;
      if (random() % 3 == 0) --gap.behind;
      asked.push_back(random() % 4 == 0 ? a : Drop(a, gap));
    }
    pool.ExpectBitsOfEachAlone(whole, asked, 1 + i % Pool::kThreads);
    if (HasFatalFailure()) FAIL() << "case " << i;
  }
}

TEST_P(Windows, PositionsHaveNoEnd) {
  const KeyWindow window = {.window = 90, .sinks = 4};
  for (const std::int64_t position : {10'000'000, 1'000'000'000}) {
    Asked asked = {.first_position = position, .rows = 3, .window = window};
    const Gap gap = GreatestGap(asked, page_size());
    asked.front = gap.front;
    asked.dropped = gap.behind - gap.front;
    const std::int64_t pages = (position + 2) / page_size() + 1 - asked.dropped;
    asked.pages = Iota(0, pages);
    Pool pool(GetParam(), static_cast<int>(pages));
    const std::vector<RowRun> runs = RunsOf({&asked, 1});
    const Rows queries = pool.Queries(runs);
    const Rows results = pool.Attend(queries, runs, 2);
    for (std::size_t row = 0; row < 3; ++row)
      ASSERT_THAT(results[row],
                  Pointwise(FloatNear(4e-6F),
                            pool.Reference(asked, position + static_cast<std::int64_t>(row),
                                           queries[row])));
  }
}

TEST_P(Windows, OfEverythingHaveTheBitsOfNone) {
  constexpr std::int64_t kCount = 200;
  Pool pool(GetParam(), PagesFor(kCount));
  const Table pages = Iota(0, PagesFor(kCount));
  const std::vector<Asked> none = {{.pages = pages, .first_position = 100, .rows = 100}};
  const Rows queries = pool.Queries(RunsOf(none));
  const Rows all = pool.Attend(queries, RunsOf(none), 1);
  const auto windowed = [&](std::int64_t window) {
    std::vector<Asked> asked = none;
    asked[0].window = {.window = window, .sinks = 4};
    return pool.Attend(queries, RunsOf(asked), 2);
  };
  EXPECT_EQ(windowed(std::int64_t{1} << 50), all);
  EXPECT_EQ(windowed(kCount - 4), all);
  const Rows cut = windowed(kCount - 5);
  EXPECT_EQ(Rows(cut.begin(), cut.end() - 1), Rows(all.begin(), all.end() - 1));
  EXPECT_NE(cut.back(), all.back());
}

// How the work is planned.

AttentionPlan::Call PlanCall(std::span<const RowRun> runs, int threads) {
  return {.runs = runs,
          .page_size = 16,
          .kv_heads = 3,
          .group = 3,
          .partial_size = 72,
          .threads = threads};
}

// Behind a front of `front` pages from 0 on, pages of its own from `own` on.
Asked Streaming(std::int64_t position, std::int64_t front, std::int32_t own) {
  Asked asked = {.first_position = position, .window = {.window = 128, .sinks = 4}};
  asked.front = front;
  asked.dropped = GreatestGap(asked, 16).behind - front;
  asked.pages = Iota(0, front);
  for (const std::int32_t page : Iota(own, 10)) asked.pages.push_back(page);
  return asked;
}

TEST(WindowsPlan, WorkDoesNotGrowWithThePosition) {
  for (const int threads : {1, 3}) {
    std::vector<std::int64_t> work;
    for (const std::int64_t position : {1000, 1000 + 64 * 1000 * 1000}) {
      const std::vector<Asked> asked = {Streaming(position, 1, 10)};
      const std::vector<RowRun> runs = RunsOf(asked);
      AttentionPlan plan;
      plan.Make(PlanCall(runs, threads));
      work.push_back(std::ssize(plan.items()) + plan.kept_floats());
    }
    EXPECT_EQ(work[0], work[1]) << threads << " threads";
  }
}

TEST(WindowsPlan, WindowsFarApartAreNotOneBlock) {
  const auto blocks = [](const std::vector<Asked>& asked) {
    const std::vector<RowRun> runs = RunsOf(asked);
    AttentionPlan plan;
    plan.Make(PlanCall(runs, 1));
    std::int64_t chunks = 0;
    for (const AttentionPlan::Block& block : plan.blocks())
      chunks += block.last_chunk - block.first_chunk;
    EXPECT_LE(chunks, 3 * std::ssize(asked));
    return std::ssize(plan.blocks());
  };
  const Asked far = Streaming(1'000'000, 4, 100);
  EXPECT_EQ(blocks({far, {.pages = Iota(0, 9), .first_position = 140}}), 2);
  EXPECT_EQ(blocks({far, Streaming(2'000'000, 4, 200)}), 2);
  EXPECT_EQ(blocks({far, Streaming(1'000'010, 4, 200)}), 1) << "their sinks are read together";
  EXPECT_EQ(blocks({far, Streaming(1'000'010, 3, 200)}), 2) << "no chunk is wholly shared";
}

TEST(WindowsPlan, WhatLiesBehindAGapIsSharedWithNobody) {
  // The same pages at one index of the tables are not of the same positions.
  const std::vector<Asked> asked = {
      Streaming(1000, 4, 4), Streaming(1016, 4, 4), {.pages = Iota(0, 14), .first_position = 200}};
  const std::vector<RowRun> runs = RunsOf(asked);
  PrefixOrder order;
  const auto places = order.Of(runs, 16, OwnPage::kInChunks);
  ASSERT_THAT(places, SizeIs(3));
  for (std::size_t i = 1; i < places.size(); ++i) EXPECT_EQ(places[i].shared_keys, 4 * 16);
}

}  // namespace
}  // namespace banyan::kernels::testing
