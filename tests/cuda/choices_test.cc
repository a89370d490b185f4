// Attention over pages that queries choose, beside the CPU backend: it chooses the same pages,
// though scores differ by little, and sees what it says there but for rounding.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cuda/both_backends.h"
#include "tests/cuda/rig.h"
#include "tests/kernels/tokens.h"

namespace banyan::kernels::testing {
namespace {

using ::testing::FloatNear;
using ::testing::Not;
using ::testing::Pointwise;

struct Kind {
  int heads = 4;
  int kv_heads = 2;
  int head_dim = 24;
  KvFormat format = KvFormat::kF16;
  int page_size = 8;
};

using Table = std::vector<std::int32_t>;

constexpr int kPages = 18;

Tokens TokensOf(const Kind& kind, int count, std::uint32_t seed) {
  return {kind, count, seed, HalfRows};
}

Table ShuffledTable(std::uint32_t seed) { return ShuffledPages(kPages, seed); }

// Two layers with the same queries, keys and values.
template <class B>
class Stage {
 public:
  Stage(const Kind& kind, std::unique_ptr<B> backend) : kind_(kind), backend_(std::move(backend)) {
    EXPECT_TRUE(backend_->AllocatePages(
        {2, kind.kv_heads, kind.head_dim, kind.page_size, kPages, kind.format}));
  }

  // What the rows of all parts attend to in both layers of a step, part after part.
  std::vector<Rows> Step(const std::vector<StepPart>& parts) {
    const StepRows rows(parts);
    std::vector<Rows> out;
    for (const std::int32_t layer : {0, 1}) {
      auto q_rows = Load(*backend_, rows.q);
      auto k_rows = Load(*backend_, rows.k);
      const auto v_rows = Load(*backend_, rows.v);
      backend_->RopeAndStore(q_rows, k_rows, v_rows, Rope{}, rows.runs, layer);
      out.push_back(Attended(*backend_, q_rows, {.scale = 0.25F}, rows.runs, layer));
    }
    return out;
  }

  B& backend() { return *backend_; }

 private:
  Kind kind_;
  std::unique_ptr<B> backend_;
};

Stage<CudaBackend> OnCuda(const Kind& kind) { return {kind, MakeCuda()}; }
Stage<CpuBackend> OnCpu(const Kind& kind) { return {kind, MakeCpu()}; }

class Choices : public ::testing::TestWithParam<Kind> {
 protected:
  void ExpectNear(const std::vector<Rows>& got, const std::vector<Rows>& expected) const {
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t layer = 0; layer < got.size(); ++layer) {
      ASSERT_EQ(got[layer].size(), expected[layer].size());
      for (std::size_t row = 0; row < got[layer].size(); ++row)
        EXPECT_THAT(got[layer][row], Pointwise(FloatNear(bound()), expected[layer][row]))
            << "layer " << layer << ", row " << row;
    }
  }
  float bound() const {
    return static_cast<float>(cuda::testing::AttentionBound(GetParam().format));
  }
};
INSTANTIATE_TEST_SUITE_P(
    Kinds, Choices,
    ::testing::Values(Kind{}, Kind{.heads = 3, .kv_heads = 1, .head_dim = 64},
                      Kind{.heads = 2, .format = KvFormat::kBf16},
                      Kind{.heads = 2, .format = KvFormat::kFp8},
                      Kind{.heads = 2, .format = KvFormat::kInt8, .page_size = 5},
                      Kind{.heads = 2, .page_size = 1}),
    [](const auto& kind) {
      return std::string(LayoutOf(kind.param.format).name) + "_" +
             std::to_string(kind.param.heads) + "_" + std::to_string(kind.param.kv_heads) + "_" +
             std::to_string(kind.param.page_size);
    });

// A prompt of which the later rows choose, among pages that the same step fills, then single
// tokens; in the first layer all pages are read.
TEST_P(Choices, AreTheCpus) {
  const Kind kind = GetParam();
  const int count = (kPages - 1) * kind.page_size;
  const Tokens tokens = TokensOf(kind, count + 1, 1);
  const Table table = ShuffledTable(1);
  for (const int pages : {1, 2, 6}) {
    const PageChoice choice{.pages = pages, .dense_layers = 1};
    auto cuda = OnCuda(kind);
    auto cpu = OnCpu(kind);
    int first = 0;
    for (const int rows : {count / 2, 3, count - count / 2 - 3, 1}) {
      const std::vector<StepPart> parts = {{&tokens, first, rows, &table, choice}};
      ExpectNear(cuda.Step(parts), cpu.Step(parts));
      first += rows;
    }
  }
}

// The tests' own test: other choices, and none, are far from these.
TEST_P(Choices, OfOtherPagesAreSeen) {
  const Kind kind = GetParam();
  const int count = kPages * kind.page_size;
  const Tokens tokens = TokensOf(kind, count, 2);
  const Table table = ShuffledTable(2);
  auto cuda = OnCuda(kind);
  cuda.Step({{&tokens, 0, count - 1, &table}});
  const auto last = [&](const PageChoice& choice) {
    return cuda.Step({{&tokens, count - 1, 1, &table, choice}})[1][0];
  };
  const Row six = last({.pages = 6});
  EXPECT_EQ(last({.pages = 6}), six);
  for (const PageChoice& other :
       {PageChoice{}, PageChoice{.pages = 5}, PageChoice{.pages = 6, .dense_layers = 2}})
    EXPECT_THAT(last(other), Not(Pointwise(FloatNear(bound()), six)));
}

TEST_P(Choices, OfAllPagesHaveTheBitsOfNone) {
  const Kind kind = GetParam();
  const int count = 10 * kind.page_size;
  const Tokens tokens = TokensOf(kind, count, 3);
  const Table table = ShuffledTable(3);
  const std::vector<Rows> exact = OnCuda(kind).Step({{&tokens, 0, count, &table}});
  EXPECT_EQ(OnCuda(kind).Step({{&tokens, 0, count, &table, {.pages = 10}}}), exact);
}

// Whoever else is in the step, however the prompt was cut, and whichever layers read all.
TEST_P(Choices, BitsAreARowsOwn) {
  const Kind kind = GetParam();
  const int count = 8 * kind.page_size;
  const Tokens a = TokensOf(kind, count, 4);
  const Tokens b = TokensOf(kind, count, 5);
  const Table table = ShuffledTable(4);
  const Table other(table.begin() + 9, table.end());
  const PageChoice three{.pages = 3};
  const PageChoice four{.pages = 4, .dense_layers = 1};
  auto alone = OnCuda(kind);
  const std::vector<Rows> of_a = alone.Step({{&a, 0, count, &table, three}});
  const std::vector<Rows> of_b = alone.Step({{&b, 0, count, &other, four}});
  auto together = OnCuda(kind);
  int first = 0;
  for (const int rows : {4 * kind.page_size - 1, 3, count - 4 * kind.page_size - 2}) {
    const std::vector<Rows> got =
        together.Step({{&a, first, rows, &table, three}, {&b, first, rows, &other, four}});
    for (const int layer : {0, 1}) {
      EXPECT_EQ(Rows(got[layer].begin(), got[layer].begin() + rows),
                Rows(of_a[layer].begin() + first, of_a[layer].begin() + first + rows));
      EXPECT_EQ(Rows(got[layer].begin() + rows, got[layer].end()),
                Rows(of_b[layer].begin() + first, of_b[layer].begin() + first + rows));
    }
    first += rows;
  }
}

// Whatever was known of a page before it was written, in each of the ways that write one.
TEST_P(Choices, AreOfWhatPagesHoldNow) {
  const Kind kind = GetParam();
  const int count = 12 * kind.page_size;
  const Tokens before = TokensOf(kind, count, 8);
  const Tokens now = TokensOf(kind, count, 9);
  const Table table = ShuffledTable(8);
  const PageChoice choice{.pages = 3};
  const auto last = [&](auto& stage) { return stage.Step({{&now, count - 1, 1, &table, choice}}); };
  auto clean = OnCuda(kind);
  clean.Step({{&now, 0, count - 1, &table}});
  const std::vector<Rows> expected = last(clean);
  std::vector<std::byte> bytes(clean.backend().page_bytes());
  const auto begun = [&] {
    auto stage = OnCuda(kind);
    stage.Step({{&before, 0, count - 1, &table}});
    stage.Step({{&before, count - 1, 1, &table, choice}});
    return stage;
  };

  auto stored = begun();
  stored.Step({{&now, 0, count - 1, &table}});
  EXPECT_EQ(last(stored), expected);

  auto written = begun();
  for (int page = 0; page < 12; ++page) {
    clean.backend().ReadPage(table[page], bytes);
    written.backend().WritePage(table[page], bytes);
  }
  EXPECT_EQ(last(written), expected);

  auto copied = begun();  // one page by another's
  for (int page = 0; page < 12; ++page) {
    clean.backend().ReadPage(table[page], bytes);
    copied.backend().WritePage(table[12], bytes);
    const SlotCopy copy = {table[12], table[page], kind.page_size};
    copied.backend().CopySlots({&copy, 1});
  }
  EXPECT_EQ(last(copied), expected);
}

TEST(OddChoices, WhatIsNotFiniteReachesWhoSeesIt) {
  const Kind kind{};
  Tokens tokens = TokensOf(kind, 130, 11);
  tokens.k[20][3] = std::numeric_limits<float>::quiet_NaN();
  const Table table = ShuffledTable(11);
  auto cuda = OnCuda(kind);
  cuda.Step({{&tokens, 0, 129, &table}});
  const Row row = cuda.Step({{&tokens, 129, 1, &table, {.pages = 3}}})[1][0];
  EXPECT_TRUE(std::ranges::any_of(row, [](float x) { return std::isnan(x); }));
}

TEST(OddChoicesDeathTest, SealedPagesAreReadWhole) {
  const Kind kind{.head_dim = 32, .format = KvFormat::kInt4, .page_size = 16};
  const std::unique_ptr<CudaBackend> backend = MakeCuda();
  ASSERT_TRUE(backend->AllocatePages({1, 2, 32, 16, 4, kind.format, 1}));
  auto x = Load(*backend, HalfRows(1, 64, 1));
  const Table pages = {0, 1, 2};
  const RowRun run{.rows = 1, .first_position = 40, .pages = pages, .choice = {.pages = 1}};
  EXPECT_DEATH(backend->RopeAndStore(x, x, x, Rope{}, {&run, 1}, 0), "sees all its slots");
}

}  // namespace
}  // namespace banyan::kernels::testing
