// Paged attention against double precision, and its bits under every way of cutting the work.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/kept.h"
#include "tests/kernels/rig.h"
#include "tests/kernels/tokens.h"

namespace banyan::kernels::testing {
namespace {

struct Heads {
  int heads;
  int kv_heads;
  int head_dim;
  KvFormat format = KvFormat::kF16;  // of the pages
};

// With keys and values as pages keep them.
Tokens AsKept(const Heads& h, Tokens tokens) {
  ChangeHeads(tokens.k, h.head_dim, [&](const auto& head) { return KeptKey(h.format, head); });
  ChangeHeads(tokens.v, h.head_dim, [&](const auto& head) { return Kept(h.format, head); });
  return tokens;
}

// A backend with pages, on which steps are run.
class Stage {
 public:
  Stage(const Heads& heads, int page_size, int pages, int threads, std::int64_t window = 0)
      : heads_(heads), window_(window), rig_(threads) {
    rig_.KeepFloats();
    EXPECT_TRUE(rig_.backend->AllocatePages(
        {kLayers, heads.kv_heads, heads.head_dim, page_size, pages, heads.format}));
  }

  // Writes and attends positions first .. first + count - 1 of one sequence in one step.
  Rows Step(const Tokens& t, int first, int count, const std::vector<std::int32_t>& pages) {
    const RowRun run[] = {{0, count, first, pages}};
    return Step(Slice(t.q, first, count), Slice(t.k, first, count), Slice(t.v, first, count), run);
  }

  Rows Step(const Rows& q, const Rows& k, const Rows& v, std::span<const RowRun> runs) {
    const int rows = static_cast<int>(q.size());
    CpuBackend::Activations q_rows = rig_.Load(q);
    CpuBackend::Activations k_rows = rig_.Load(k);
    const CpuBackend::Activations v_rows = rig_.Load(v);
    const Rope none{};
    rig_.backend->RopeAndStore(q_rows, k_rows, v_rows, none, runs, kLayer);
    CpuBackend::Input out = rig_.backend->MakeInput(rows, q_rows.cols());
    rig_.backend->Attend(q_rows, {.scale = Scale(), .window = window_}, runs, kLayer, out);
    return rig_.Floats(out, rows);
  }

  float Scale() const { return 1.0F / std::sqrt(static_cast<float>(heads_.head_dim)); }
  CpuBackend& backend() { return *rig_.backend; }

 private:
  static constexpr int kLayers = 2;
  static constexpr int kLayer = 1;
  Heads heads_;
  std::int64_t window_;
  Rig rig_;
};

// Of tokens as pages keep them.
Row Reference(const Heads& h, const Tokens& t, int position, float scale, int window = 0) {
  const int first = window == 0 ? 0 : std::max(0, position + 1 - window);
  Row out;
  for (int head = 0; head < h.heads; ++head) {
    const int kv = head / (h.heads / h.kv_heads) * h.head_dim;
    std::vector<double> weights;
    double greatest = -std::numeric_limits<double>::infinity();
    for (int j = first; j <= position; ++j) {
      double score = 0;
      for (int d = 0; d < h.head_dim; ++d)
        score += static_cast<double>(t.q[position][head * h.head_dim + d]) * t.k[j][kv + d];
      weights.push_back(score * scale);
      greatest = std::max(greatest, weights.back());
    }
    double sum = 0;
    for (double& w : weights) sum += w = std::exp(w - greatest);
    for (int d = 0; d < h.head_dim; ++d) {
      double value = 0;
      for (int j = first; j <= position; ++j) value += weights[j - first] * t.v[j][kv + d];
      out.push_back(static_cast<float>(value / sum));
    }
  }
  return out;
}

class Attention : public ::testing::TestWithParam<Heads> {};
std::string NameOf(const ::testing::TestParamInfo<Heads>& heads) {
  return std::string(LayoutOf(heads.param.format).name) + "_" + std::to_string(heads.param.heads) +
         "_" + std::to_string(heads.param.kv_heads) + "_" + std::to_string(heads.param.head_dim);
}
INSTANTIATE_TEST_SUITE_P(Shapes, Attention,
                         ::testing::Values(Heads{3, 3, 8}, Heads{6, 2, 24}, Heads{9, 3, 64},
                                           Heads{5, 1, 16}, Heads{9, 3, 64, KvFormat::kBf16},
                                           Heads{6, 2, 24, KvFormat::kFp8},
                                           Heads{9, 3, 64, KvFormat::kFp8},
                                           Heads{6, 2, 24, KvFormat::kInt8},
                                           Heads{9, 3, 64, KvFormat::kInt8}),
                         NameOf);

TEST_P(Attention, AgreesWithDoublePrecision) {
  const Tokens tokens(GetParam(), 200, 1);
  Stage stage(GetParam(), 16, 20, 2);
  const Rows results = stage.Step(tokens, 0, 200, ShuffledPages(20, 1));
  const Tokens kept = AsKept(GetParam(), tokens);
  for (int position = 0; position < 200; ++position) {
    const Row expected = Reference(GetParam(), kept, position, stage.Scale());
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(results[position][i], expected[i], 2e-6) << "position " << position;
  }
}

TEST_P(Attention, BitsDoNotDependOnChunkingPageSizePageIdsOrThreads) {
  constexpr int kCount = 200;
  const Tokens tokens(GetParam(), kCount, 2);
  const Rows whole = Stage(GetParam(), 16, 13, 1).Step(tokens, 0, kCount, ShuffledPages(13, 2));
  struct Way {
    int page_size;
    int threads;
    int step;
  };
  // Every two of them together; single tokens, the slow case, once.
  for (const auto& [page_size, threads, step] :
       {Way{16, 3, 1}, Way{1, 1, 7}, Way{1, 2, 50}, Way{1, 3, kCount}, Way{3, 1, 50},
        Way{3, 2, kCount}, Way{3, 3, 7}, Way{16, 1, kCount}, Way{16, 2, 7}, Way{16, 3, 50},
        Way{64, 1, 7}, Way{64, 2, 50}, Way{64, 3, kCount}, Way{1024, 1, 50}, Way{1024, 2, kCount},
        Way{1024, 3, 7}}) {
    const int pages = (kCount + page_size - 1) / page_size;
    Stage stage(GetParam(), page_size, pages, threads);
    const std::vector<std::int32_t> table = ShuffledPages(pages, 3);
    for (int first = 0; first < kCount; first += step) {
      const int count = std::min(step, kCount - first);
      ASSERT_EQ(stage.Step(tokens, first, count, table), Slice(whole, first, count))
          << "page size " << page_size << ", threads " << threads << ", step " << step << ", first "
          << first;
    }
  }
}

TEST_P(Attention, ARunCanBeSplitAtAnyBorder) {
  constexpr int kCount = 140;
  const Tokens tokens(GetParam(), kCount, 3);
  const std::vector<std::int32_t> table = ShuffledPages(9, 4);
  const Rows whole = Stage(GetParam(), 16, 9, 1).Step(tokens, 0, kCount, table);
  for (int border = 1; border < kCount; border += 9) {
    Stage stage(GetParam(), 16, 9, 2);
    ASSERT_EQ(stage.Step(tokens, 0, border, table), Slice(whole, 0, border)) << border;
    ASSERT_EQ(stage.Step(tokens, border, kCount - border, table),
              Slice(whole, border, kCount - border))
        << border;
  }
}

TEST_P(Attention, RunsOfOneStepDoNotSeeEachOther) {
  // A long decode, a prefill, and a decode that shares the long one's first page.
  const Tokens a(GetParam(), 190, 4);
  const Tokens b(GetParam(), 70, 5);
  Tokens c(GetParam(), 30, 6);
  std::copy_n(a.k.begin(), 16, c.k.begin());
  std::copy_n(a.v.begin(), 16, c.v.begin());
  const std::vector<std::int32_t> all = ShuffledPages(30, 5);
  const std::vector<std::int32_t> a_pages(all.begin(), all.begin() + 12);
  const std::vector<std::int32_t> b_pages(all.begin() + 12, all.begin() + 17);
  const std::vector<std::int32_t> c_pages = {a_pages[0], all[20]};
  for (const int threads : {1, 2, 3}) {
    Stage stage(GetParam(), 16, 30, threads);
    stage.Step(a, 0, 189, a_pages);
    stage.Step(b, 0, 20, b_pages);
    stage.Step(c, 16, 13, c_pages);
    Rows q = {a.q[189], c.q[29]};
    Rows k = {a.k[189], c.k[29]};
    Rows v = {a.v[189], c.v[29]};
    for (int i = 20; i < 70; ++i) {
      q.push_back(b.q[i]);
      k.push_back(b.k[i]);
      v.push_back(b.v[i]);
    }
    const RowRun runs[] = {{2, 50, 20, b_pages}, {0, 1, 189, a_pages}, {1, 1, 29, c_pages}};
    const Rows together = stage.Step(q, k, v, runs);
    Stage alone(GetParam(), 16, 30, 1);
    EXPECT_EQ(together[0], alone.Step(a, 0, 190, a_pages)[189]);
    EXPECT_EQ(together[1], alone.Step(c, 0, 30, c_pages)[29]);
    EXPECT_EQ(Slice(together, 2, 50), Slice(alone.Step(b, 0, 70, b_pages), 20, 50));
  }
}

TEST_P(Attention, LaterPositionsAreNeverRead) {
  // The same pages hold, past each query, what would poison any arithmetic.
  Tokens tokens(GetParam(), 130, 7);
  const std::vector<std::int32_t> table = ShuffledPages(9, 6);
  const Rows clean = Stage(GetParam(), 16, 9, 1).Step(tokens, 0, 100, table);
  for (int i = 100; i < 130; ++i) {
    for (float& value : tokens.k[i]) value = std::numeric_limits<float>::quiet_NaN();
    for (float& value : tokens.v[i]) value = std::numeric_limits<float>::infinity();
  }
  const Rows poisoned = Stage(GetParam(), 16, 9, 1).Step(tokens, 0, 130, table);
  EXPECT_EQ(Slice(poisoned, 0, 100), clean);
}

TEST(AttentionPlans, LongDecodesAgreeWithOneThread) {
  // With one thread blocks stay whole; with three, chunks are taken apart and merged afterwards.
  const Heads heads{2, 1, 64};
  constexpr int kCount = 1500;
  const Tokens tokens(heads, kCount + 2, 8);
  const std::vector<std::int32_t> table = ShuffledPages(94, 7);
  Rows expected;
  for (const int threads : {1, 3}) {
    Stage stage(heads, 16, 94, threads);
    stage.Step(tokens, 0, kCount, table);
    const Rows decoded = stage.Step(tokens, kCount, 2, table);
    if (threads == 1) expected = decoded;
    EXPECT_EQ(decoded, expected);
  }
}

TEST(AttentionPlans, MoreHeadsThanOneBlockOfQueries) {
  const Heads heads{71, 1, 16};
  const Tokens tokens(heads, 70, 9);
  Stage stage(heads, 16, 5, 2);
  const Rows results = stage.Step(tokens, 0, 70, ShuffledPages(5, 8));
  const Row expected = Reference(heads, AsKept(heads, tokens), 69, stage.Scale());
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(results[69][i], expected[i], 2e-6);
}

// (window): below, at and above a chunk, and above the whole.
class Window : public ::testing::TestWithParam<int> {
 protected:
  static constexpr Heads kHeads{4, 2, 24};
  static constexpr int kCount = 300;
};
INSTANTIATE_TEST_SUITE_P(Keys, Window,
                         ::testing::Values(1, 2, 63, 64, 65, 100, 128, 299, 300, 301));

TEST_P(Window, AgreesWithDoublePrecision) {
  const Tokens tokens(kHeads, kCount, 11);
  Stage stage(kHeads, 16, 19, 2, GetParam());
  const Rows results = stage.Step(tokens, 0, kCount, ShuffledPages(19, 9));
  const Tokens kept = AsKept(kHeads, tokens);
  for (int position = 0; position < kCount; position += 3) {
    const Row expected = Reference(kHeads, kept, position, stage.Scale(), GetParam());
    for (std::size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(results[position][i], expected[i], 2e-6) << "position " << position;
  }
}

TEST_P(Window, BitsDoNotDependOnChunkingPageSizeOrThreads) {
  const Tokens tokens(kHeads, kCount, 12);
  const Rows whole =
      Stage(kHeads, 16, 19, 1, GetParam()).Step(tokens, 0, kCount, ShuffledPages(19, 10));
  for (const int step : {1, 7, 129}) {
    const int threads = step == 129 ? 2 : 3;
    const int page_size = step == 7 ? 3 : 16;
    const int pages = (kCount + page_size - 1) / page_size;
    Stage stage(kHeads, page_size, pages, threads, GetParam());
    const std::vector<std::int32_t> table = ShuffledPages(pages, 11);
    for (int first = 0; first < kCount; first += step) {
      const int count = std::min(step, kCount - first);
      ASSERT_EQ(stage.Step(tokens, first, count, table), Slice(whole, first, count))
          << "threads " << threads << ", step " << step << ", first " << first;
    }
  }
}

TEST_P(Window, KeysBeforeItAreNeverReadIntoASum) {
  Tokens tokens(kHeads, kCount, 13);
  const std::vector<std::int32_t> table = ShuffledPages(19, 12);
  const Rows clean = Stage(kHeads, 16, 19, 1, GetParam()).Step(tokens, 0, kCount, table);
  constexpr int kPoisoned = 70;
  for (int i = 0; i < kPoisoned; ++i) {
    for (float& value : tokens.k[i]) value = std::numeric_limits<float>::quiet_NaN();
    for (float& value : tokens.v[i]) value = std::numeric_limits<float>::infinity();
  }
  const Rows poisoned = Stage(kHeads, 16, 19, 1, GetParam()).Step(tokens, 0, kCount, table);
  const int first = std::min(kCount, kPoisoned - 1 + GetParam());
  EXPECT_EQ(Slice(poisoned, first, kCount - first), Slice(clean, first, kCount - first));
}

TEST(AttentionPlans, AWindowAsWideAsTheContextHasTheBitsOfNone) {
  const Heads heads{4, 2, 24};
  const Tokens tokens(heads, 130, 14);
  const std::vector<std::int32_t> table = ShuffledPages(9, 13);
  const Rows all = Stage(heads, 16, 9, 1).Step(tokens, 0, 130, table);
  EXPECT_EQ(Stage(heads, 16, 9, 1, 130).Step(tokens, 0, 130, table), all);
  EXPECT_NE(Stage(heads, 16, 9, 1, 129).Step(tokens, 0, 130, table)[129], all[129]);
}

TEST(AttentionPlans, LongWindowedDecodesAgreeWithOneThread) {
  const Heads heads{2, 1, 64};
  constexpr int kCount = 1500;
  const Tokens tokens(heads, kCount + 2, 15);
  const std::vector<std::int32_t> table = ShuffledPages(94, 14);
  Rows expected;
  for (const int threads : {1, 3}) {
    Stage stage(heads, 16, 94, threads, 700);
    stage.Step(tokens, 0, kCount, table);
    const Rows decoded = stage.Step(tokens, kCount, 2, table);
    if (threads == 1) expected = decoded;
    EXPECT_EQ(decoded, expected);
  }
}

// Every format by head sizes, page sizes and windows.
class Formats : public ::testing::TestWithParam<KvFormat> {};
INSTANTIATE_TEST_SUITE_P(Formats, Formats, ::testing::ValuesIn(kHeadFormats),
                         [](const auto& format) {
                           return std::string(LayoutOf(format.param).name);
                         });

TEST_P(Formats, AgreeWithDoublePrecisionAndOneThread) {
  for (const int head_dim : {8, 64, 120, 128, 256, 512}) {
    const Heads heads{4, 1, head_dim, GetParam()};
    const Tokens tokens(heads, 90, 16);
    const Tokens kept = AsKept(heads, tokens);
    Rows expected;
    for (const int threads : {1, 2}) {
      Stage stage(heads, 16, 6, threads, 70);
      Rows results = stage.Step(tokens, 0, 89, ShuffledPages(6, 15));
      results.push_back(stage.Step(tokens, 89, 1, ShuffledPages(6, 15))[0]);
      if (threads == 1) expected = results;
      EXPECT_EQ(results, expected);
    }
    for (const int position : {0, 63, 64, 75, 89}) {
      const Row reference = Reference(heads, kept, position, 1 / std::sqrt(head_dim), 70);
      EXPECT_THAT(expected[position], ::testing::Pointwise(::testing::FloatNear(2e-6F), reference))
          << head_dim;
    }
  }
}

TEST_P(Formats, BitsDoNotDependOnPageSizeAndWindowsAreKept) {
  const Heads heads{4, 2, 24, GetParam()};
  constexpr int kCount = 300;
  const Tokens tokens(heads, kCount, 17);
  const Tokens kept = AsKept(heads, tokens);
  for (const int window : {0, 1, 65, 129}) {
    const Rows whole =
        Stage(heads, 16, 19, 1, window).Step(tokens, 0, kCount, ShuffledPages(19, 16));
    for (const int position : {0, 63, 64, 200, 299}) {
      const Row reference =
          Reference(heads, kept, position, 1 / std::sqrt(static_cast<float>(24)), window);
      EXPECT_THAT(whole[position], ::testing::Pointwise(::testing::FloatNear(2e-6F), reference));
    }
    for (const int page_size : {1, 8, 24, 64, 1024}) {
      const int pages = (kCount + page_size - 1) / page_size;
      Stage stage(heads, page_size, pages, 2, window);
      const std::vector<std::int32_t> table = ShuffledPages(pages, 17);
      for (int first = 0; first < kCount; first += 70) {
        const int count = std::min(70, kCount - first);
        ASSERT_EQ(stage.Step(tokens, first, count, table), Slice(whole, first, count))
            << "window " << window << ", page size " << page_size << ", first " << first;
      }
    }
  }
}

TEST_P(Formats, WhatIsNotFiniteReachesAllWhoSeeItAndNobodyElse) {
  const Heads heads{2, 1, 16, GetParam()};
  for (const bool in_key : {false, true}) {
    for (const int page_size : {8, 16}) {
      Tokens tokens(heads, 100, 18);
      const std::vector<std::int32_t> table = ShuffledPages(13, 18);
      const Rows clean = Stage(heads, page_size, 13, 1).Step(tokens, 0, 100, table);
      (in_key ? tokens.k : tokens.v)[70][3] = std::numeric_limits<float>::quiet_NaN();
      const Rows broken = Stage(heads, page_size, 13, 1).Step(tokens, 0, 100, table);
      EXPECT_EQ(Slice(broken, 0, 70), Slice(clean, 0, 70));
      for (int position = 70; position < 100; ++position)
        EXPECT_TRUE(std::ranges::any_of(broken[position], [](float x) { return std::isnan(x); }));
    }
  }
}

TEST(AttentionDeathTest, PageTablesAreChecked) {
  const Heads heads{1, 1, 8};
  const Tokens tokens(heads, 20, 10);
  Stage stage(heads, 16, 2, 1);
  EXPECT_DEATH(stage.Step(tokens, 0, 17, {0}), "covers its rows");
  EXPECT_DEATH(stage.Step(tokens, 0, 1, {2}), "names pages of the store");
  EXPECT_DEATH(stage.Step(tokens, 0, 1, {-1}), "names pages of the store");
}

}  // namespace
}  // namespace banyan::kernels::testing
