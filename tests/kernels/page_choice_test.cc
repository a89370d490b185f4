// Attention over chosen pages against softmax in double precision over just those, chosen by
// definition; and its bits under every way of cutting the work.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/small_floats.h"
#include "tests/kernels/kept.h"
#include "tests/kernels/rig.h"
#include "tests/kernels/tokens.h"

namespace banyan::kernels::testing {
namespace {

struct Kind {
  int heads = 6;
  int kv_heads = 2;
  int head_dim = 24;
  KvFormat format = KvFormat::kF16;
  int page_size = 16;
};

using Table = std::vector<std::int32_t>;

// With keys and values as pages keep them, and queries as they meet those.
Tokens AsKept(const Kind& kind, Tokens tokens) {
  const auto spread = [&](const auto& head) { return InKeyBasis(kind.format, head); };
  const auto kept = [&](const auto& head) { return Kept(kind.format, head); };
  ChangeHeads(tokens.q, kind.head_dim, spread);
  ChangeHeads(tokens.k, kind.head_dim, spread);
  ChangeHeads(tokens.k, kind.head_dim, kept);
  ChangeHeads(tokens.v, kind.head_dim, kept);
  return tokens;
}

class Stage {
 public:
  static constexpr int kLayers = 2;
  static constexpr int kPages = 60;

  explicit Stage(const Kind& kind, int threads = 1) : kind_(kind), rig_(threads) {
    rig_.KeepFloats();
    EXPECT_TRUE(rig_.backend->AllocatePages(
        {kLayers, kind.kv_heads, kind.head_dim, kind.page_size, kPages, kind.format}));
  }

  // What the rows of all parts attend to in one layer, in one step, part after part.
  Rows Step(const std::vector<StepPart>& parts, int layer = 1) {
    const StepRows rows(parts);
    CpuBackend::Activations q_rows = rig_.Load(rows.q);
    CpuBackend::Activations k_rows = rig_.Load(rows.k);
    const CpuBackend::Activations v_rows = rig_.Load(rows.v);
    const Rope none{};
    rig_.backend->RopeAndStore(q_rows, k_rows, v_rows, none, rows.runs, layer);
    CpuBackend::Input out = rig_.backend->MakeInput(static_cast<int>(rows.q.size()), q_rows.cols());
    rig_.backend->Attend(q_rows, {.scale = Scale()}, rows.runs, layer, out);
    return rig_.Floats(out, static_cast<int>(rows.q.size()));
  }
  Rows Step(const StepPart& part) { return Step(std::vector<StepPart>{part}); }

  float Scale() const { return 1.0F / std::sqrt(static_cast<float>(kind_.head_dim)); }
  CpuBackend& backend() { return *rig_.backend; }

 private:
  Kind kind_;
  Rig rig_;
};

// The bf16 next to x on the side of `sign`, or x itself.
double Outward(double x, int sign) {
  std::uint16_t bits = FloatToBf16(static_cast<float>(x));
  while (sign * (static_cast<double>(Bf16ToFloat(bits)) - x) < 0)
    bits = static_cast<std::uint16_t>(bits + ((bits & 0x8000) == 0 ? sign : -sign));
  return Bf16ToFloat(bits);
}

// The pages, by index, that a query of a KV head reads. Of tokens as pages keep them.
std::vector<int> Chosen(const Kind& kind, const Tokens& kept, int position, int kv_head,
                        std::int64_t pages) {
  const int own = position / kind.page_size;
  const int old = own + 1 - static_cast<int>(std::min<std::int64_t>(pages, 2));
  const int group = kind.heads / kind.kv_heads;
  std::vector<std::pair<double, int>> scores;  // less is better
  for (int page = 0; page < old; ++page) {
    double sum = 0;
    for (int h = kv_head * group; h < (kv_head + 1) * group; ++h) {
      double score = 0;
      for (int d = 0; d < kind.head_dim; ++d) {
        double least = std::numeric_limits<double>::infinity();
        double greatest = -least;
        for (int j = page * kind.page_size; j < (page + 1) * kind.page_size; ++j) {
          const double key = kept.k[j][kv_head * kind.head_dim + d];
          least = std::min(least, key);
          greatest = std::max(greatest, key);
        }
        const double q = kept.q[position][h * kind.head_dim + d];
        score += std::max(q * Outward(least, -1), q * Outward(greatest, 1));
      }
      sum += score;
    }
    scores.emplace_back(-sum, page);
  }
  std::ranges::sort(scores);
  std::vector<int> chosen;
  for (int i = 0; i < static_cast<int>(pages) - (own + 1 - old); ++i)
    chosen.push_back(scores[i].second);
  for (int page = old; page <= own; ++page) chosen.push_back(page);
  return chosen;
}

// Softmax over the keys of chosen pages.
Row Reference(const Kind& kind, const Tokens& kept, int position, std::int64_t pages, float scale) {
  Row out;
  const int group = kind.heads / kind.kv_heads;
  for (int head = 0; head < kind.heads; ++head) {
    const int kv = head / group * kind.head_dim;
    std::vector<double> weighted(kind.head_dim);
    double sum = 0;
    for (const int page : Chosen(kind, kept, position, head / group, pages)) {
      for (int j = page * kind.page_size; j < std::min((page + 1) * kind.page_size, position + 1);
           ++j) {
        double score = 0;
        for (int d = 0; d < kind.head_dim; ++d)
          score +=
              static_cast<double>(kept.q[position][head * kind.head_dim + d]) * kept.k[j][kv + d];
        const double weight = std::exp(score * scale);
        sum += weight;
        for (int d = 0; d < kind.head_dim; ++d) weighted[d] += weight * kept.v[j][kv + d];
      }
    }
    for (const double x : weighted) out.push_back(static_cast<float>(x / sum));
  }
  return out;
}

class Choices : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Choices,
                         ::testing::Values(Kind{}, Kind{.heads = 9, .kv_heads = 3, .head_dim = 64},
                                           Kind{.heads = 2, .kv_heads = 2, .head_dim = 8},
                                           Kind{.format = KvFormat::kBf16},
                                           Kind{.format = KvFormat::kFp8},
                                           Kind{.format = KvFormat::kInt8}, Kind{.page_size = 5},
                                           Kind{.format = KvFormat::kInt8, .page_size = 5},
                                           Kind{.page_size = 32}),
                         [](const auto& kind) {
                           return std::string(LayoutOf(kind.param.format).name) + "_" +
                                  std::to_string(kind.param.heads) + "_" +
                                  std::to_string(kind.param.kv_heads) + "_" +
                                  std::to_string(kind.param.page_size);
                         });

constexpr int kCount = 230;

TEST_P(Choices, AgreeWithDoublePrecisionOverThePagesChosenByDefinition) {
  const Kind kind = GetParam();
  const Tokens tokens(kind, kCount, 1);
  const Tokens kept = AsKept(kind, tokens);
  const Table table = ShuffledPages(Stage::kPages, 1);
  for (const int pages : {1, 2, 3, 6}) {
    Stage stage(kind, 2);
    stage.Step({&tokens, 0, kCount - 6, &table});
    const Rows rows = stage.Step({&tokens, kCount - 6, 6, &table, {.pages = pages}});
    for (int i = 0; i < 6; ++i) {
      const Row expected = Reference(kind, kept, kCount - 6 + i, pages, stage.Scale());
      EXPECT_THAT(rows[i], ::testing::Pointwise(::testing::FloatNear(2e-6F), expected))
          << pages << " pages, row " << i;
    }
  }
}

TEST_P(Choices, HeadsChooseForThemselves) {
  const Kind kind = GetParam();
  const Tokens kept = AsKept(kind, Tokens(kind, kCount, 1));
  EXPECT_NE(Chosen(kind, kept, kCount - 1, 0, 4), Chosen(kind, kept, kCount - 1, 1, 4));
}

TEST_P(Choices, OfAllPagesHaveTheBitsOfNone) {
  const Kind kind = GetParam();
  const Tokens tokens(kind, kCount, 2);
  const Table table = ShuffledPages(Stage::kPages, 2);
  const int all = (kCount + kind.page_size - 1) / kind.page_size;
  const Rows exact = Stage(kind).Step({&tokens, 0, kCount, &table});
  for (const int pages : {all, all + 1, 1000}) {
    EXPECT_EQ(Stage(kind, 2).Step({&tokens, 0, kCount, &table, {.pages = pages}}), exact);
  }
  const Rows fewer = Stage(kind).Step({&tokens, 0, kCount, &table, {.pages = all - 1}});
  const int same = (all - 1) * kind.page_size;  // rows that see no more pages than that
  EXPECT_EQ(Slice(fewer, 0, same), Slice(exact, 0, same));
  for (int i = same; i < kCount; ++i) EXPECT_NE(fewer[i], exact[i]);
}

TEST_P(Choices, BitsDoNotDependOnChunkingPageIdsOrThreads) {
  const Kind kind = GetParam();
  const Tokens tokens(kind, kCount, 3);
  const PageChoice choice = {.pages = 3};
  const Table table = ShuffledPages(Stage::kPages, 3);
  const Rows whole = Stage(kind).Step({&tokens, 0, kCount, &table, choice});
  for (const int threads : {1, 2, 3}) {
    for (const int step : {1, 7, 90}) {
      if (step == 1 && threads != 3) continue;
      const Table other = ShuffledPages(Stage::kPages, 4);
      Stage stage(kind, threads);
      for (int first = 0; first < kCount; first += step) {
        const int count = std::min(step, kCount - first);
        ASSERT_EQ(stage.Step({&tokens, first, count, &other, choice}), Slice(whole, first, count))
            << "threads " << threads << ", step " << step << ", first " << first;
      }
    }
  }
}

// Exact ones and others, over a common prefix of pages.
TEST_P(Choices, BitsDoNotDependOnWhoElseIsInTheStep) {
  const Kind kind = GetParam();
  const int shared = 6 * kind.page_size;
  const Tokens a(kind, kCount, 5);
  Tokens b(kind, kCount, 6);
  std::copy_n(a.k.begin(), shared, b.k.begin());
  std::copy_n(a.v.begin(), shared, b.v.begin());
  // Where pages are small one sequence takes most of them.
  const int pages = (kCount + kind.page_size - 1) / kind.page_size;
  const int length = std::min(kCount, (6 + (Stage::kPages - pages)) * kind.page_size);
  const Table table = ShuffledPages(Stage::kPages, 5);
  Table other(table.begin(), table.begin() + 6);
  other.insert(other.end(), table.begin() + pages, table.end());
  const PageChoice three = {.pages = 3};
  const PageChoice four = {.pages = 4};
  const auto alone = [&](const Tokens& tokens, int last, const PageChoice& choice) {
    Stage stage(kind);
    stage.Step({&tokens, 0, last - 1, &table});
    return stage.Step({&tokens, last - 1, 1, &table, choice})[0];
  };
  for (const int threads : {1, 3}) {
    Stage stage(kind, threads);
    stage.Step({&a, 0, kCount - 1, &table});
    stage.Step({&b, shared, length - shared - 1, &other});
    const Rows rows = stage.Step({{&a, kCount - 1, 1, &table, three},
                                  {&b, length - 1, 1, &other, four},
                                  {&a, kCount - 1, 1, &table},
                                  {&b, length - 1, 1, &other}});
    EXPECT_EQ(rows[0], alone(a, kCount, three));
    EXPECT_EQ(rows[1], alone(b, length, four));
    EXPECT_EQ(rows[2], alone(a, kCount, {}));
    EXPECT_EQ(rows[3], alone(b, length, {}));
  }
}

TEST_P(Choices, DenseLayersReadAll) {
  const Kind kind = GetParam();
  const Tokens tokens(kind, kCount, 7);
  const Table table = ShuffledPages(Stage::kPages, 7);
  const auto rows = [&](int layer, const PageChoice& choice) {
    Stage stage(kind);
    return stage.Step({{&tokens, 0, kCount, &table, choice}}, layer);
  };
  EXPECT_EQ(rows(0, {.pages = 2, .dense_layers = 1}), rows(0, {}));
  EXPECT_EQ(rows(1, {.pages = 2, .dense_layers = 1}), rows(1, {.pages = 2}));
  EXPECT_EQ(rows(1, {.pages = 2, .dense_layers = 2}), rows(1, {}));
  EXPECT_NE(rows(0, {.pages = 2}), rows(0, {}));
}

// Whatever was known of a page before it was written, in each of the ways that write one.
TEST_P(Choices, AreOfWhatPagesHoldNow) {
  const Kind kind = GetParam();
  const Tokens before(kind, kCount, 8);
  const Tokens now(kind, kCount, 9);
  const Table table = ShuffledPages(Stage::kPages, 8);
  const PageChoice choice = {.pages = 3};
  const auto last = [&](Stage& stage) { return stage.Step({&now, kCount - 1, 1, &table, choice}); };
  Stage clean(kind);
  clean.Step({&now, 0, kCount - 1, &table});
  const Rows expected = last(clean);
  std::vector<std::byte> bytes(clean.backend().page_bytes());

  Stage stored(kind);
  stored.Step({&before, 0, kCount, &table, choice});
  stored.Step({&now, 0, kCount - 1, &table});
  EXPECT_EQ(last(stored), expected);

  const int whole = (kCount - 1) / kind.page_size;
  Stage written(kind);
  written.Step({&before, 0, kCount, &table, choice});
  for (int page = 0; page <= whole; ++page) {
    clean.backend().ReadPage(table[page], bytes);
    written.backend().WritePage(table[page], bytes);
  }
  EXPECT_EQ(last(written), expected);

  // One page by another's.
  Stage copied(kind);
  copied.Step({&before, 0, kCount, &table, choice});
  for (int page = 0; page <= whole; ++page) {
    clean.backend().ReadPage(table[page], bytes);
    copied.backend().WritePage(table[whole + 1], bytes);
    const SlotCopy copy = {table[whole + 1], table[page], kind.page_size};
    copied.backend().CopySlots({&copy, 1});
  }
  EXPECT_EQ(last(copied), expected);
}

// At the bound: of equal scores the lower page is chosen.
TEST(EqualChoices, AreTheFirst) {
  const Kind kind{.heads = 1, .kv_heads = 1, .head_dim = 8};
  Tokens tokens(kind, 161, 10);
  for (int i = 0; i < 128; ++i) {
    tokens.k[i] = tokens.k[i % 16];  // eight pages alike
    tokens.v[i] = Row(8, static_cast<float>(i / 16));
  }
  for (int i = 128; i < 161; ++i) {
    tokens.k[i] = Row(8, 0.0F);
    tokens.v[i] = Row(8, 0.0F);
  }
  tokens.v[160] = tokens.v[159] = Row(8, 0.0F);
  const Table table = ShuffledPages(Stage::kPages, 10);
  Stage stage(kind, 2);
  stage.Step({&tokens, 0, 160, &table});
  const Row row = stage.Step({&tokens, 160, 1, &table, {.pages = 4}})[0];
  const Row expected = Reference(kind, AsKept(kind, tokens), 160, 4, stage.Scale());
  EXPECT_THAT(row, ::testing::Pointwise(::testing::FloatNear(2e-6F), expected));
  EXPECT_GT(row[0], 0.0F);
  EXPECT_LT(row[0], 1.0F) << "pages 0 and 1";
}

TEST(OddChoices, WhatIsNotFiniteReachesWhoSeesIt) {
  const Kind kind{};
  Tokens tokens(kind, kCount, 11);
  tokens.k[20][3] = std::numeric_limits<float>::quiet_NaN();
  const Table table = ShuffledPages(Stage::kPages, 11);
  Stage stage(kind);
  stage.Step({&tokens, 0, kCount - 1, &table});
  const Row row = stage.Step({&tokens, kCount - 1, 1, &table, {.pages = 3}})[0];
  EXPECT_TRUE(std::ranges::any_of(row, [](float x) { return std::isnan(x); }));
}

TEST(ChoicesDeathTest, AreOfRunsThatSeeAll) {
  const Kind kind{};
  const Tokens tokens(kind, 20, 12);
  const Table table = ShuffledPages(Stage::kPages, 12);
  Stage stage(kind);
  EXPECT_DEATH(stage.Step({&tokens, 0, 20, &table, {.pages = -1}}), "a choice is of pages");
  EXPECT_DEATH(stage.Step({&tokens, 0, 20, &table, {.pages = 1, .dense_layers = -1}}),
               "a choice is of pages");
}

}  // namespace
}  // namespace banyan::kernels::testing
