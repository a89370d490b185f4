// Attention over pages that are sealed when they are full: a query reads its own page in f16 and
// all earlier ones sealed, however the work was cut.

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cpu/variants.h"
#include "tests/kernels/kept.h"
#include "tests/kernels/rig.h"
#include "tests/kernels/sealed.h"
#include "tests/kernels/tokens.h"

namespace banyan::kernels::testing {
namespace {

using Table = std::vector<std::int32_t>;

struct Shape {
  int heads;
  int kv_heads;
  int head_dim;
  int page_size;

  int kv_width() const { return kv_heads * head_dim; }
  int PagesFor(int tokens) const { return (tokens + page_size - 1) / page_size; }
};

// The same as pages keep them: in f16, and sealed as far as there are whole tiles.
struct Stored {
  Stored(const Shape& shape, const Tokens& tokens) : open(tokens), sealed(tokens) {
    const Ops& ops = *FindCpuVariant("portable")->ops;
    for (Rows* rows : {&open.k, &open.v})
      for (Row& row : *rows) row = Kept(KvFormat::kF16, row);
    const int dims = shape.head_dim;
    for (int first = 0; first + kTileKeys <= std::ssize(tokens.q); first += kTileKeys) {
      for (int at = 0; at < shape.kv_width(); at += dims) {
        std::vector<std::uint16_t> keys(static_cast<std::size_t>(kTileKeys * dims));
        std::vector<std::uint16_t> values(keys.size());
        for (int i = 0; i < kTileKeys; ++i) {
          for (int d = 0; d < dims; ++d) {
            keys[SealedTile::Index(d * kTileKeys + i)] = FloatToHalf(tokens.k[first + i][at + d]);
            values[SealedTile::Index(i * dims + d)] = FloatToHalf(tokens.v[first + i][at + d]);
          }
        }
        SealedTile tile(dims);
        ops.kv_int4.seal_keys(keys.data(), dims, tile.Keys());
        ops.kv_int4.seal_values(values.data(), dims, tile.Values());
        for (int i = 0; i < kTileKeys; ++i) {
          for (int d = 0; d < dims; ++d) {
            sealed.k[first + i][at + d] = tile.Key(i, d);
            sealed.v[first + i][at + d] = tile.Value(i, d);
          }
        }
      }
    }
  }
  Tokens open, sealed;
};

// A backend with pages, on which steps are run.
class Stage {
 public:
  Stage(const Shape& shape, int pages, int threads, std::int64_t layer_window = 0)
      : shape_(shape), window_(layer_window), rig_(threads) {
    rig_.KeepFloats();
    EXPECT_TRUE(rig_.backend->AllocatePages({.layers = 2,
                                             .kv_heads = shape.kv_heads,
                                             .head_dim = shape.head_dim,
                                             .page_size = shape.page_size,
                                             .pages = pages,
                                             .format = KvFormat::kInt4,
                                             .open_pages = kOpenPages}));
  }

  static constexpr int kOpenPages = 4;
  static constexpr int kLayer = 1;

  // Positions first .. first + count - 1 of one sequence in one step.
  Rows Step(const Tokens& t, int first, int count, const Table& pages, KeyWindow window = {},
            int open_page = 2) {
    const RowRun run[] = {{.first_row = 0,
                           .rows = count,
                           .first_position = first,
                           .pages = pages,
                           .window = window,
                           .open_page = open_page}};
    return Step(Slice(t.q, first, count), Slice(t.k, first, count), Slice(t.v, first, count), run);
  }

  Rows Step(const Rows& q, const Rows& k, const Rows& v, std::span<const RowRun> runs,
            int layer = kLayer) {
    const int rows = static_cast<int>(q.size());
    CpuBackend::Activations q_rows = rig_.Load(q);
    CpuBackend::Activations k_rows = rig_.Load(k);
    const CpuBackend::Activations v_rows = rig_.Load(v);
    const Rope none{};
    rig_.backend->RopeAndStore(q_rows, k_rows, v_rows, none, runs, layer);
    CpuBackend::Input out = rig_.backend->MakeInput(rows, q_rows.cols());
    rig_.backend->Attend(q_rows, {.scale = Scale(), .window = window_, .rope = &none}, runs, layer,
                         out);
    return rig_.Floats(out, rows);
  }

  float Scale() const { return 1.0F / std::sqrt(static_cast<float>(shape_.head_dim)); }
  CpuBackend& backend() { return *rig_.backend; }

 private:
  const Shape shape_;
  const std::int64_t window_;
  Rig rig_;
};

// What a query at `position` sees, as windows of layers and of sequences say.
std::vector<int> Seen(int position, std::int64_t layer_window, const KeyWindow& window) {
  std::vector<int> seen;
  for (int key = 0; key <= position; ++key) {
    const bool is_sink = window.cuts(position) && key < window.sinks;
    const bool in_layer = layer_window == 0 || key + layer_window > position;
    if (in_layer && (is_sink || key >= window.first_key(position))) seen.push_back(key);
  }
  return seen;
}

Row Reference(const Shape& shape, const Stored& stored, int position, float scale,
              std::int64_t layer_window = 0, const KeyWindow& window = {}) {
  const int own = position / shape.page_size * shape.page_size;
  const auto& tokens = [&](int key) -> const Tokens& {
    return key < own ? stored.sealed : stored.open;
  };
  const std::vector<int> seen = Seen(position, layer_window, window);
  Row out;
  for (int head = 0; head < shape.heads; ++head) {
    const int kv = head / (shape.heads / shape.kv_heads) * shape.head_dim;
    std::vector<double> weights;
    double sum = 0;
    for (const int key : seen) {
      double score = 0;
      for (int d = 0; d < shape.head_dim; ++d)
        score += static_cast<double>(stored.open.q[position][head * shape.head_dim + d]) *
                 tokens(key).k[key][kv + d];
      sum += weights.emplace_back(std::exp(score * scale));
    }
    for (int d = 0; d < shape.head_dim; ++d) {
      double value = 0;
      for (std::size_t i = 0; i < seen.size(); ++i)
        value += weights[i] * tokens(seen[i]).v[seen[i]][kv + d];
      out.push_back(static_cast<float>(value / sum));
    }
  }
  return out;
}

class SealedAttention : public ::testing::TestWithParam<Shape> {
 protected:
  static constexpr int kCount = 150;

  void ExpectReference(const Rows& results, const Stored& stored, std::int64_t layer_window,
                       const KeyWindow& window) const {
    const float scale = 1.0F / std::sqrt(static_cast<float>(GetParam().head_dim));
    for (int position = 0; position < std::ssize(results); position += position < 34 ? 1 : 5) {
      const Row expected = Reference(GetParam(), stored, position, scale, layer_window, window);
      ASSERT_THAT(results[position], ::testing::Pointwise(::testing::FloatNear(5e-6F), expected))
          << "position " << position << ", layer's window " << layer_window << ", sinks "
          << window.sinks << ", window " << window.window;
    }
  }
};
INSTANTIATE_TEST_SUITE_P(Shapes, SealedAttention,
                         ::testing::Values(Shape{3, 3, 32, 16}, Shape{6, 2, 64, 16},
                                           Shape{4, 1, 96, 32}, Shape{4, 2, 32, 48},
                                           Shape{5, 1, 32, 64}, Shape{6, 2, 32, 112},
                                           Shape{2, 1, 128, 1024}),
                         [](const auto& test) {
                           const Shape& shape = test.param;
                           return std::to_string(shape.heads) + "_" +
                                  std::to_string(shape.kv_heads) + "_" +
                                  std::to_string(shape.head_dim) + "_" +
                                  std::to_string(shape.page_size);
                         });

TEST_P(SealedAttention, AgreesWithDoublePrecision) {
  const Tokens tokens(GetParam(), kCount, 1);
  const Stored stored(GetParam(), tokens);
  const int pages = GetParam().PagesFor(kCount);
  for (const std::int64_t window : {0, 1, 16, 100}) {
    Stage stage(GetParam(), pages, 2, window);
    ExpectReference(stage.Step(tokens, 0, kCount, ShuffledPages(pages, 1)), stored, window, {});
    if (HasFatalFailure()) return;
  }
}

// Sinks in sealed pages, in the query's own, and in both.
TEST_P(SealedAttention, AgreesWithDoublePrecisionUnderWindowsWithSinks) {
  const Tokens tokens(GetParam(), kCount, 2);
  const Stored stored(GetParam(), tokens);
  const int pages = GetParam().PagesFor(kCount);
  Stage stage(GetParam(), pages, 2);
  for (const KeyWindow& window :
       {KeyWindow{.window = 16, .sinks = 0}, KeyWindow{.window = 3, .sinks = 1},
        KeyWindow{.window = 1, .sinks = 4}, KeyWindow{.window = 64, .sinks = 20},
        KeyWindow{.window = 100, .sinks = 64}}) {
    ExpectReference(stage.Step(tokens, 0, kCount, ShuffledPages(pages, 2), window), stored, 0,
                    window);
    if (HasFatalFailure()) return;
  }
}

TEST_P(SealedAttention, BitsDoNotDependOnChunkingPageIdsOrThreads) {
  const Tokens tokens(GetParam(), kCount, 3);
  const int pages = GetParam().PagesFor(kCount);
  for (const KeyWindow window : {KeyWindow{}, KeyWindow{.window = 30, .sinks = 4}}) {
    const Rows whole =
        Stage(GetParam(), pages, 1).Step(tokens, 0, kCount, ShuffledPages(pages, 3), window);
    int threads = 1;
    for (const int step : {1, 5, 16, 17, 50, 64, 130}) {
      threads = threads % 3 + 1;
      Stage stage(GetParam(), pages, threads);
      const Table table = ShuffledPages(pages, 4);
      for (int first = 0; first < kCount; first += step) {
        const int count = std::min(step, kCount - first);
        ASSERT_EQ(stage.Step(tokens, first, count, table, window), Slice(whole, first, count))
            << "threads " << threads << ", step " << step << ", first " << first;
      }
    }
  }
}

TEST_P(SealedAttention, ARunCanBeSplitAtAnyBorder) {
  constexpr int kTokens = 140;
  const Tokens tokens(GetParam(), kTokens, 4);
  const int pages = GetParam().PagesFor(kTokens);
  const Table table = ShuffledPages(pages, 5);
  const Rows whole = Stage(GetParam(), pages, 1).Step(tokens, 0, kTokens, table);
  for (const int border : {1, 15, 17, 48, 64, 113, 139}) {
    Stage stage(GetParam(), pages, 2);
    ASSERT_EQ(stage.Step(tokens, 0, border, table), Slice(whole, 0, border)) << border;
    ASSERT_EQ(stage.Step(tokens, border, kTokens - border, table),
              Slice(whole, border, kTokens - border))
        << border;
  }
}

// Whole pages of one sequence, on which another goes on with an open page of its own.
TEST_P(SealedAttention, RunsOfOneStepDoNotSeeEachOther) {
  const Shape& shape = GetParam();
  const int shared = (shape.page_size + 63) / 64 * 64;  // tokens, whole pages
  if (shared % shape.page_size != 0) GTEST_SKIP() << "pages that are not whole chunks";
  const Tokens a(shape, shared + 90, 5);
  Tokens b(shape, shared + 40, 6);
  std::copy_n(a.k.begin(), shared, b.k.begin());
  std::copy_n(a.v.begin(), shared, b.v.begin());
  const int count = shape.PagesFor(shared + 90);
  const Table a_pages = ShuffledPages(count, 6);
  Table b_pages(a_pages.begin(), a_pages.begin() + shape.PagesFor(shared));
  for (int page = 0; page < shape.PagesFor(40); ++page) b_pages.push_back(count + page);
  const int pages = count + shape.PagesFor(40);
  const Rows a_alone = Stage(shape, pages, 1).Step(a, 0, shared + 90, a_pages);
  const Rows b_alone = Stage(shape, pages, 1).Step(b, 0, shared + 40, b_pages);
  for (const int threads : {1, 3}) {
    Stage stage(shape, pages, threads);
    stage.Step(a, 0, shared, a_pages, {}, 0);
    for (int step = 0; step < 2; ++step) {
      const int a_first = shared + step * 45;
      const int b_first = shared + step * 20;
      const auto join = [&](const Rows& of_b, const Rows& of_a) {
        Rows rows = Slice(of_b, b_first, 20);
        const Rows rest = Slice(of_a, a_first, 45);
        rows.insert(rows.end(), rest.begin(), rest.end());
        return rows;
      };
      const RowRun runs[] = {{.first_row = 20,
                              .rows = 45,
                              .first_position = a_first,
                              .pages = a_pages,
                              .open_page = 0},
                             {.first_row = 0,
                              .rows = 20,
                              .first_position = b_first,
                              .pages = b_pages,
                              .open_page = 3}};
      const Rows together = stage.Step(join(b.q, a.q), join(b.k, a.k), join(b.v, a.v), runs);
      EXPECT_EQ(Slice(together, 0, 20), Slice(b_alone, b_first, 20)) << threads;
      EXPECT_EQ(Slice(together, 20, 45), Slice(a_alone, a_first, 45)) << threads;
    }
  }
}

TEST_P(SealedAttention, LaterPositionsAreNeverRead) {
  Tokens tokens(GetParam(), 130, 7);
  const int pages = GetParam().PagesFor(130);
  const Table table = ShuffledPages(pages, 7);
  // All that is in the poisoned keys' pages is read in f16 or not at all.
  const int first = 100 / GetParam().page_size * GetParam().page_size + 3;
  const Rows clean = Stage(GetParam(), pages, 1).Step(tokens, 0, first, table);
  for (int i = first; i < 130; ++i) {
    for (float& value : tokens.k[i]) value = std::numeric_limits<float>::quiet_NaN();
    for (float& value : tokens.v[i]) value = std::numeric_limits<float>::infinity();
  }
  const Rows poisoned = Stage(GetParam(), pages, 1).Step(tokens, 0, 130, table);
  EXPECT_EQ(Slice(poisoned, 0, first), clean);
}

// What is staged is of one layer at a time; open pages are of all.
TEST_P(SealedAttention, LayersDoNotSeeEachOther) {
  const Tokens upper(GetParam(), 120, 8);
  const Tokens lower(GetParam(), 120, 9);
  const int pages = GetParam().PagesFor(120);
  const Table table = ShuffledPages(pages, 8);
  const Rows alone = Stage(GetParam(), pages, 1).Step(upper, 0, 120, table);
  Stage stage(GetParam(), pages, 2);
  for (int first = 0; first < 120; first += 40) {
    const RowRun run[] = {{.first_row = 0, .rows = 40, .first_position = first, .pages = table}};
    stage.Step(Slice(lower.q, first, 40), Slice(lower.k, first, 40), Slice(lower.v, first, 40), run,
               0);
    EXPECT_EQ(stage.Step(upper, first, 40, table, {}, 0), Slice(alone, first, 40)) << first;
  }
}

// A table with a gap, of pages that nothing sees.
TEST_P(SealedAttention, PagesInAGapAreNotNamed) {
  const Shape& shape = GetParam();
  const KeyWindow window = {.window = 20, .sinks = 4};
  const Tokens tokens(shape, kCount, 10);
  const int pages = shape.PagesFor(kCount);
  const Table table = ShuffledPages(pages, 9);
  const Rows whole = Stage(shape, pages, 1).Step(tokens, 0, kCount, table, window);
  Stage stage(shape, pages, 2);
  stage.Step(tokens, 0, 100, table, window);
  for (int first = 100; first < kCount; first += 10) {
    const std::int64_t behind = window.first_key(first) / shape.page_size;
    const std::int64_t dropped = std::max<std::int64_t>(behind - 1, 0);
    Table named = table;
    if (dropped > 0) named.erase(named.begin() + 1, named.begin() + 1 + dropped);
    const RowRun run[] = {{.first_row = 0,
                           .rows = 10,
                           .first_position = first,
                           .pages = named,
                           .window = window,
                           .front_pages = dropped > 0 ? 1 : 0,
                           .dropped_pages = dropped,
                           .open_page = 2}};
    ASSERT_EQ(stage.Step(Slice(tokens.q, first, 10), Slice(tokens.k, first, 10),
                         Slice(tokens.v, first, 10), run),
              Slice(whole, first, 10))
        << first;
  }
}

TEST(SealedAttentionPlans, LongDecodesAgreeWithOneThread) {
  // With one thread blocks stay whole; with three, chunks are taken apart and merged afterwards.
  const Shape shape{2, 1, 64, 16};
  constexpr int kTokens = 1500;
  const Tokens tokens(shape, kTokens + 2, 11);
  const Table table = ShuffledPages(94, 10);
  Rows expected;
  for (const int threads : {1, 3}) {
    Stage stage(shape, 94, threads);
    stage.Step(tokens, 0, kTokens, table);
    const Rows decoded = stage.Step(tokens, kTokens, 2, table);
    if (threads == 1) expected = decoded;
    EXPECT_EQ(decoded, expected);
  }
}

TEST(SealedAttentionDeathTest, WhatRunsMayNotBe) {
  const Shape shape{2, 1, 32, 16};
  const Tokens tokens(shape, 40, 12);
  const Table table = ShuffledPages(3, 11);
  const auto step = [&](int open_page) {
    Stage(shape, 3, 1).Step(tokens, 0, 40, table, {}, open_page);
  };
  EXPECT_DEATH(step(-1), "a run has an open page");
  EXPECT_DEATH(step(Stage::kOpenPages), "a run has an open page");
  const auto copy = [&] {
    const SlotCopy copies[] = {{.from = 0, .to = 1, .slots = 3}};
    Stage(shape, 3, 1).backend().CopySlots(copies);
  };
  EXPECT_DEATH(copy(), "shared whole");
}

}  // namespace
}  // namespace banyan::kernels::testing
