// Runs of one step whose page tables begin alike: their keys are read once for all of them, and
// every query's result is the bits that it has alone.

#include <algorithm>
#include <cmath>
#include <cstring>
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
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::SizeIs;

using Table = std::vector<std::int32_t>;

// Rows at consecutive positions of one sequence.
struct Asked {
  Table pages;
  std::int64_t first_position = 0;
  std::int32_t rows = 1;
};

// Runs over `asked`, whose rows lie one after the other in a step.
std::vector<RowRun> RunsOf(const std::vector<Asked>& asked) {
  std::vector<RowRun> runs;
  std::int32_t row = 0;
  for (const Asked& a : asked) {
    runs.push_back({row, a.rows, a.first_position, a.pages});
    row += a.rows;
  }
  return runs;
}

struct Layout {
  int page_size;
  KvFormat format;
};

// Attention over pages full of random numbers.
class Stage {
 public:
  static constexpr int kThreads = 5;

  Stage(const Layout& layout, int pages) {
    EXPECT_TRUE(store_.Allocate({2, kKvHeads, kHeadDim, layout.page_size, pages, layout.format}));
    for (int page = 0; page < pages; ++page)
      for (int slot = 0; slot < layout.page_size; ++slot)
        for (int head = 0; head < kKvHeads; ++head) Fill(page, slot, head);
  }

  // Slot `slot` of a page is what would spoil any sum.
  void Poison(std::int32_t page, std::int32_t slot) {
    const Row key(kHeadDim, std::nanf(""));
    const Row value(key.size(), HUGE_VALF);
    for (int head = 0; head < kKvHeads; ++head)
      store_.Store(ops_, key.data(), value.data(), page, 1, head, slot);
  }

  Row Queries(int rows) {
    Row q(static_cast<std::size_t>(rows) * row_size());
    for (float& value : q) value = normal_(random_);
    return q;
  }

  Row Attend(const Row& q, std::span<const RowRun> runs, int threads, std::int64_t window) {
    if (engines_[threads] == nullptr) engines_[threads] = std::make_unique<Engine>(ops_, threads);
    Row out(q.size());
    engines_[threads]->attention.Run({.pages = {.store = &store_},
                                      .layer = 1,
                                      .heads = kHeads,
                                      .span = {.scale = 0.3F, .window = window},
                                      .runs = runs,
                                      .q = q.data(),
                                      .out = out.data(),
                                      .stride = static_cast<std::int64_t>(row_size())});
    return out;
  }

  // Together on so many threads, and each run alone on one.
  void ExpectBitsOfEachAlone(const std::vector<Asked>& asked, int threads, std::int64_t window) {
    const std::vector<RowRun> runs = RunsOf(asked);
    const Row q = Queries(runs.back().first_row + runs.back().rows);
    const Row together = Attend(q, runs, threads, window);
    for (std::size_t i = 0; i < asked.size(); ++i) {
      const auto at = static_cast<std::ptrdiff_t>(runs[i].first_row * row_size());
      const auto size = static_cast<std::ptrdiff_t>(runs[i].rows * row_size());
      const Row own(q.begin() + at, q.begin() + at + size);
      const RowRun run[] = {{0, runs[i].rows, runs[i].first_position, runs[i].pages}};
      const Row alone = Attend(own, run, 1, window);
      // What is NaN must be so alone too; which NaN it is says nothing.
      const auto same = [](float a, float b) {
        return std::memcmp(&a, &b, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
      };
      ASSERT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + at, same))
          << "run " << i << " of " << asked.size() << ": " << runs[i].rows << " rows from position "
          << runs[i].first_position << ", window " << window << ", threads " << threads;
    }
  }

 private:
  struct Engine {
    Engine(const Ops& ops, int threads) : pool(threads), attention(ops, pool) {}
    ThreadPool pool;
    kernels::Attention attention;
  };
  static constexpr int kHeads = 6;
  static constexpr int kKvHeads = 2;
  static constexpr int kHeadDim = 8;

  static constexpr std::size_t row_size() { return std::size_t{kHeads} * kHeadDim; }
  void Fill(int page, int slot, int head) {
    Row key(kHeadDim);
    Row value(kHeadDim);
    for (float& number : key) number = normal_(random_);
    for (float& number : value) number = normal_(random_);
    store_.Store(ops_, key.data(), value.data(), page, 1, head, slot);
  }

  const Ops& ops_ = *FindCpuVariant(TestedVariant())->ops;
  PageStore store_;
  std::mt19937 random_{1};
  std::normal_distribution<float> normal_;
  std::unique_ptr<Engine> engines_[kThreads + 1];
};

Table Iota(std::int32_t first, std::int64_t count) {
  Table out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}

Table Join(Table head, const Table& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

class SharedPrefix : public ::testing::TestWithParam<Layout> {
 protected:
  static constexpr int kTokens = 600;  // of a sequence, at most

  int page_size() const { return GetParam().page_size; }
  int PagesFor(std::int64_t tokens) const {
    return static_cast<int>((tokens + page_size() - 1) / page_size());
  }
};
std::string NameOf(const ::testing::TestParamInfo<Layout>& layout) {
  return std::string(LayoutOf(layout.param.format).name) + "_" +
         std::to_string(layout.param.page_size);
}
INSTANTIATE_TEST_SUITE_P(
    Layouts, SharedPrefix, ::testing::ValuesIn([] {
      std::vector<Layout> all;
      for (const int page_size : {1, 3, 16, 24, 64, 128, 1024})
        all.push_back({page_size, KvFormat::kF16});
      for (const int page_size : {3, 16, 64})
        for (const KvFormat format : {KvFormat::kBf16, KvFormat::kFp8, KvFormat::kInt8})
          all.push_back({page_size, format});
      return all;
    }()),
    NameOf);

TEST_P(SharedPrefix, OfEveryLengthInPages) {
  constexpr int kLength = 200;
  const int all = PagesFor(kLength) + 1;
  Stage stage(GetParam(), 3 * all);
  for (int shared = 0; shared <= PagesFor(kLength); ++shared) {
    const Table head = Iota(0, shared);
    for (const int own : {-1, 0, 1, 70}) {  // tokens beside the shared pages
      const std::int64_t tokens = std::min<std::int64_t>(shared * page_size() + own, kLength);
      if (tokens <= 0) continue;
      const Table first = Join(head, Iota(all, all - shared));
      const Table second = Join(head, Iota(2 * all, all - shared));
      const int threads = 1 + shared % Stage::kThreads;
      stage.ExpectBitsOfEachAlone({{first, tokens - 1}, {second, kLength - 1}}, threads, 0);
      stage.ExpectBitsOfEachAlone({{first, tokens - 1}, {second, tokens - 1}}, threads, 100);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(SharedPrefix, OfEightUnderOnePromptTwoOfThemInOneConversation) {
  const int prompt = PagesFor(300);
  const int turn = PagesFor(100);
  const int own = PagesFor(200);
  Stage stage(GetParam(), prompt + turn + 8 * own);
  const Table under_prompt = Iota(0, prompt);
  const Table under_turn = Join(under_prompt, Iota(prompt, turn));
  std::vector<Asked> asked;
  for (int i = 0; i < 8; ++i) {
    const Table& head = i == 2 || i == 5 ? under_turn : under_prompt;
    const std::int64_t tokens = std::ssize(head) * page_size() + 1 + 17 * i;
    asked.push_back({Join(head, Iota(prompt + turn + i * own, own)), tokens - 1});
  }
  for (int threads = 1; threads <= Stage::kThreads; ++threads)
    for (const int window : {0, 1, 64, 150, 350})
      stage.ExpectBitsOfEachAlone(asked, threads, window);
}

TEST_P(SharedPrefix, OfPrefillsAndDecodes) {
  const int prompt = PagesFor(256);
  const int own = PagesFor(128);
  Stage stage(GetParam(), prompt + 4 * own);
  const Table head = Iota(0, prompt);
  const std::int64_t shared = prompt * page_size();
  const std::vector<Asked> asked = {
      {Join(head, Iota(prompt, own)), shared + 5, 1},
      {Join(head, Iota(prompt + own, own)), shared - 70, 120},  // begins within the shared pages
      {Join(head, Iota(prompt + 2 * own, own)), shared, 60},
      {head, 100, 90},  // the producer of the prompt, not yet at its end
      {Join(head, Iota(prompt + 3 * own, own)), shared + 127, 1}};
  for (int threads = 1; threads <= Stage::kThreads; ++threads)
    for (const int window : {0, 33, 128, 200}) stage.ExpectBitsOfEachAlone(asked, threads, window);
}

// A sequence below the pages of another or of none, at any position of it.
Asked RandomAsked(const std::vector<Asked>& before, int page_size, int pages,
                  std::mt19937& random) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  Asked out;
  if (!before.empty() && below(6) != 0) {
    const Table& parent = before[static_cast<std::size_t>(below(std::ssize(before)))].pages;
    out.pages.assign(parent.begin(), parent.begin() + below(std::ssize(parent) + 1));
  }
  const std::int64_t own = below(3) == 0 ? 0 : below(300 / page_size + 2);
  for (std::int64_t i = 0; i < own || out.pages.empty(); ++i)
    out.pages.push_back(static_cast<std::int32_t>(below(pages)));
  const std::int64_t slots = std::ssize(out.pages) * page_size;
  const std::int64_t end = below(3) == 0 ? 1 + below(slots) : slots - below(page_size);
  out.rows =
      static_cast<std::int32_t>(below(3) == 0 ? 1 + below(std::min<std::int64_t>(end, 50)) : 1);
  out.first_position = end - out.rows;
  return out;
}

TEST_P(SharedPrefix, InRandomTreesOfRuns) {
  const int cases = page_size() > 128 ? 30 : 120;
  const int pages = 20 + 2000 / page_size();
  Stage clean(GetParam(), pages);
  Stage poisoned(GetParam(), pages);
  std::mt19937 random(static_cast<std::uint32_t>(page_size()));
  for (int i = 0; i < 20; ++i)
    poisoned.Poison(static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(pages)),
                    static_cast<std::int32_t>(random() % static_cast<std::uint32_t>(page_size())));
  for (int i = 0; i < cases; ++i) {
    std::vector<Asked> asked;
    const auto runs = 1 + random() % 9;
    while (asked.size() < runs) asked.push_back(RandomAsked(asked, page_size(), pages, random));
    std::shuffle(asked.begin(), asked.end(), random);
    const std::int64_t window = random() % 3 == 0 ? 1 + random() % 300 : 0;
    const int threads = 1 + i % Stage::kThreads;
    (i % 4 == 0 ? poisoned : clean).ExpectBitsOfEachAlone(asked, threads, window);
    if (HasFatalFailure()) FAIL() << "case " << i;
  }
}

TEST_P(SharedPrefix, OfMoreQueriesThanOneBlock) {
  const int prompt = PagesFor(200);
  const int own = PagesFor(40);
  constexpr int kRuns = 60;  // of three queries for each KV head
  Stage stage(GetParam(), prompt + kRuns * own);
  std::vector<Asked> asked;
  for (int i = 0; i < kRuns; ++i)
    asked.push_back(
        {Join(Iota(0, prompt), Iota(prompt + i * own, own)), prompt * page_size() + i % 40});
  for (const int threads : {1, 2, 5}) stage.ExpectBitsOfEachAlone(asked, threads, 0);
}

TEST_P(SharedPrefix, IsFoundAnewWhenPagesChangeInPlace) {
  // Page tables of the same spans, whose contents the next step has changed.
  const int all = PagesFor(200);
  Stage stage(GetParam(), 3 * all);
  std::vector<Asked> asked = {{Iota(0, all), 199}, {Iota(0, all), 199}};
  const std::vector<RowRun> runs = RunsOf(asked);
  const Row q = stage.Queries(2);
  const Row before = stage.Attend(q, runs, 1, 0);
  std::ranges::copy(Iota(all, all), asked[1].pages.begin());
  const Row after = stage.Attend(q, runs, 1, 0);
  Stage fresh(GetParam(), 3 * all);
  EXPECT_EQ(after, fresh.Attend(q, runs, 1, 0));
  EXPECT_NE(after, before);
}

// Which runs are found to share what.

TEST(PrefixOrder, NeighboursShareWhatAnyTwoTablesShare) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const int page_size = 1 << random() % 8;
    std::vector<Asked> asked;
    const auto count = 1 + random() % 12;
    while (asked.size() < count) asked.push_back(RandomAsked(asked, page_size, 4, random));
    const std::vector<RowRun> runs = RunsOf(asked);
    PrefixOrder order;
    const auto places = order.Of(runs, page_size, OwnPage::kInChunks);
    ASSERT_THAT(places, SizeIs(runs.size()));
    ASSERT_EQ(places[0].shared_keys, 0);
    std::vector<bool> named(runs.size());
    for (std::size_t a = 0; a < places.size(); ++a) {
      named[static_cast<std::size_t>(places[a].run)] = true;
      std::int64_t least = std::numeric_limits<std::int64_t>::max();
      for (std::size_t b = a + 1; b < places.size(); ++b) {
        least = std::min(least, places[b].shared_keys);
        // Pages that rows of both see, one by one.
        const RowRun& left = runs[static_cast<std::size_t>(places[a].run)];
        const RowRun& right = runs[static_cast<std::size_t>(places[b].run)];
        std::int64_t shared = 0;
        while (shared * page_size < left.first_position + left.rows &&
               shared * page_size < right.first_position + right.rows &&
               left.pages[static_cast<std::size_t>(shared)] ==
                   right.pages[static_cast<std::size_t>(shared)])
          ++shared;
        ASSERT_EQ(least, shared * page_size);
      }
    }
    ASSERT_THAT(named, Each(true));
  }
}

AttentionPlan::Call PlanCall(std::span<const RowRun> runs, int threads) {
  return {.runs = runs,
          .page_size = 16,
          .kv_heads = 3,
          .group = 3,
          .partial_size = 72,
          .threads = threads};
}

TEST(AttentionPlan, EightRequestsUnderOnePromptGoThroughItTogether) {
  std::vector<Asked> asked;
  for (int i = 0; i < 8; ++i) asked.push_back({Join(Iota(0, 64), Iota(64 + 4 * i, 4)), 1087});
  AttentionPlan plan;
  plan.Make(PlanCall(RunsOf(asked), 1));
  ASSERT_THAT(plan.blocks(), SizeIs(1));
  EXPECT_EQ(plan.blocks()[0].rows, 8);
  ASSERT_THAT(plan.pieces(), SizeIs(8));
  EXPECT_EQ(plan.pieces()[0].shared_chunks, 0);
  EXPECT_THAT(plan.pieces().subspan(1), Each(Field(&AttentionPlan::Piece::shared_chunks, 16)));
  EXPECT_THAT(plan.pieces(), Each(Field(&AttentionPlan::Piece::last_chunk, 17)));
}

TEST(AttentionPlan, AChunkIsSharedOnlyIfItIsWhole) {
  const auto shared_chunks = [](int pages) {
    AttentionPlan plan;
    plan.Make(PlanCall(RunsOf({{Join(Iota(0, pages), Iota(100, 9)), 140},
                               {Join(Iota(0, pages), Iota(200, 9)), 140}}),
                       1));
    return std::ssize(plan.blocks()) == 1 ? plan.pieces()[1].shared_chunks : 0;
  };
  EXPECT_EQ(shared_chunks(3), 0);
  EXPECT_EQ(shared_chunks(4), 1);
  EXPECT_EQ(shared_chunks(7), 1);
  EXPECT_EQ(shared_chunks(8), 2);
}

// The greatest cost of an item, for whose end other threads may wait, beside a thread's fair part.
double Longest(std::span<const AttentionPlan::Item> items, int threads) {
  std::int64_t total = 0;
  std::int64_t longest = 0;
  for (const AttentionPlan::Item& item : items) {
    total += item.cost;
    longest = std::max(longest, item.cost);
  }
  return static_cast<double>(longest * threads) / static_cast<double>(total);
}

TEST(AttentionPlan, NoThreadWaitsLongForAnothersLastItem) {
  const std::vector<Asked> alone = {{Iota(0, 500), 7999}};
  const std::vector<Asked> prefill = {{Iota(0, 500), 7000, 256}};
  const std::vector<Asked> start = {{Iota(0, 64), 0, 512}};
  std::vector<Asked> shared;
  std::vector<Asked> apart;
  for (int i = 0; i < 32; ++i) {
    shared.push_back({Join(Iota(0, 500), Iota(500 + 8 * i, 8)), 8000 + i});
    apart.push_back({Iota(600 * i, 520), 100 + 250 * i});
  }
  for (const auto& asked : {alone, prefill, start, shared, apart}) {
    const std::vector<RowRun> runs = RunsOf(asked);
    for (const int threads : {2, 3, 4, 8, 16}) {
      AttentionPlan plan;
      const AttentionPlan::Kind kind = plan.Make(PlanCall(runs, threads));
      SCOPED_TRACE(std::to_string(asked.size()) + " runs, " + std::to_string(threads) + " threads");
      EXPECT_LT(Longest(plan.items(), threads), 0.35);
      EXPECT_EQ(plan.merges().empty(), kind == AttentionPlan::Kind::kBlocks);
    }
  }
}

TEST(AttentionPlan, PartialsAreKeptUpToTheirBound) {
  // Decodes of 64 chunks with three heads of three queries each: 41,472 floats kept.
  const auto kind = [](int requests) {
    std::vector<Asked> asked(static_cast<std::size_t>(requests), {Iota(0, 256), 4095});
    AttentionPlan plan;
    return plan.Make(PlanCall(RunsOf(asked), 64));
  };
  constexpr auto kFits = static_cast<int>(AttentionPlan::kMaxKeptFloats / (64 * 9 * 72));
  EXPECT_EQ(kind(kFits), AttentionPlan::Kind::kChunks);
  EXPECT_EQ(kind(kFits + 1), AttentionPlan::Kind::kBlocks);
}

}  // namespace
}  // namespace banyan::kernels::testing
