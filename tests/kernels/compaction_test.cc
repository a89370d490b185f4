// What compaction leaves: the bytes of the slots that survive, in order, head by head; and that a
// sequence goes on behind them as if nothing else had ever been there.
#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/observed.h"

namespace banyan::kernels::testing {
namespace {

constexpr std::int64_t kSlots = 110;
constexpr KeepRule kRule = {.budget = 37, .recent = 9, .sinks = 2, .history = 20, .pooled = 3};

std::string NameOf(const ObservedKind& kind) {
  return std::string(LayoutOf(kind.format).name) + "_" + std::to_string(kind.page_size) + "_" +
         std::to_string(kind.group);
}

struct Head {
  std::int32_t layer;
  std::int32_t kv_head;
};
std::vector<Head> Heads() {
  std::vector<Head> heads;
  for (std::int32_t layer = 0; layer < Observed::kLayers; ++layer)
    for (std::int32_t h = 0; h < Observed::kKvHeads; ++h) heads.push_back({layer, h});
  return heads;
}

// By definition: sorted by importance, one by one.
std::vector<std::int64_t> Survivors(const KeepRule& rule, const std::vector<float>& importance) {
  const std::int64_t slots = std::ssize(importance);
  std::vector<std::int64_t> kept;
  for (std::int64_t i = 0; i < slots; ++i)
    if (i < rule.sinks || i >= slots - rule.recent) kept.push_back(i);
  const auto pooled = [&](std::int64_t slot) {
    float most = 0;
    for (std::int64_t i = slot - rule.pooled / 2; i <= slot + rule.pooled / 2; ++i)
      if (0 <= i && i < slots - rule.recent)
        most = std::max(most, importance[static_cast<std::size_t>(i)]);
    return most;
  };
  while (std::ssize(kept) < std::min(rule.budget, slots)) {
    std::int64_t best = -1;
    for (std::int64_t i = 0; i < slots; ++i)
      if (std::ranges::find(kept, i) == kept.end() && (best < 0 || pooled(i) > pooled(best)))
        best = i;
    kept.push_back(best);
  }
  std::ranges::sort(kept);
  return kept;
}

std::vector<std::vector<std::byte>> BytesOf(const Observed& observed, const Head& head,
                                            std::span<const std::int32_t> table,
                                            const std::vector<std::int64_t>& slots) {
  std::vector<std::vector<std::byte>> bytes;
  for (const std::int64_t slot : slots)
    bytes.push_back(observed.Bytes(table, head.layer, head.kv_head, slot));
  return bytes;
}

std::vector<std::int64_t> FirstSlots(std::int64_t count) {
  std::vector<std::int64_t> slots;
  for (std::int64_t i = 0; i < count; ++i) slots.push_back(i);
  return slots;
}

// What compaction should leave of a head: bytes of slots, and what was noted of them.
struct Left {
  std::vector<std::vector<std::byte>> bytes;
  std::vector<float> importance;
  friend bool operator==(const Left&, const Left&) = default;
};

std::vector<Left> Expected(const Observed& observed, const KeepRule& rule,
                           std::span<const std::int32_t> table) {
  std::vector<Left> all;
  for (const Head& head : Heads()) {
    const auto all_rows = observed.observers.Importance(0, head.layer, head.kv_head);
    const auto kept =
        Survivors(rule, observed.observers.Importance(0, head.layer, head.kv_head, rule.history));
    Left left = {.bytes = BytesOf(observed, head, table, kept), .importance = {}};
    for (const std::int64_t slot : kept)
      left.importance.push_back(all_rows[static_cast<std::size_t>(slot)]);
    all.push_back(std::move(left));
  }
  return all;
}

std::vector<Left> Found(const Observed& observed, std::int64_t slots,
                        std::span<const std::int32_t> table) {
  std::vector<Left> all;
  for (const Head& head : Heads())
    all.push_back({BytesOf(observed, head, table, FirstSlots(slots)),
                   observed.observers.Importance(0, head.layer, head.kv_head)});
  return all;
}

class Compaction : public ::testing::TestWithParam<ObservedKind> {};
INSTANTIATE_TEST_SUITE_P(
    Kinds, Compaction,
    ::testing::Values(ObservedKind{KvFormat::kF16, 1, 1}, ObservedKind{KvFormat::kF16, 5, 3},
                      ObservedKind{KvFormat::kF16, 16, 3}, ObservedKind{KvFormat::kF16, 64, 3},
                      ObservedKind{KvFormat::kBf16, 16, 1}, ObservedKind{KvFormat::kFp8, 16, 3},
                      ObservedKind{KvFormat::kFp8, 5, 1}, ObservedKind{KvFormat::kInt8, 16, 3},
                      ObservedKind{KvFormat::kInt8, 5, 3}, ObservedKind{KvFormat::kInt8, 64, 1}),
    [](const auto& test) { return NameOf(test.param); });

TEST_P(Compaction, CopiesWhatIsMostImportant) {
  for (const SlotImportance by : {SlotImportance::kSum, SlotImportance::kHistory}) {
    for (const std::int64_t budget : {12, 37, 109}) {
      KeepRule rule = kRule;
      rule.budget = budget;
      Observed observed(GetParam(), 3);
      const auto from = observed.Take(kSlots);
      const auto to = observed.Take(budget);
      observed.Run({.rows = kSlots, .pages = from, .observation = {0, 70, by}});
      const auto expected = Expected(observed, rule, from);
      std::vector<std::vector<std::vector<std::byte>>> before;
      for (const Head& head : Heads())
        before.push_back(BytesOf(observed, head, from, FirstSlots(kSlots)));
      observed.Compact({.observer = 0, .from = from, .slots = kSlots, .to = to, .keep = rule});
      EXPECT_EQ(Found(observed, budget, to), expected) << budget;
      for (std::size_t i = 0; i < before.size(); ++i)
        EXPECT_EQ(BytesOf(observed, Heads()[i], from, FirstSlots(kSlots)), before[i])
            << "what it was copied from stays";
    }
  }
}

TEST_P(Compaction, HeadsChooseForThemselves) {
  Observed observed(GetParam());
  const auto table = observed.Take(kSlots);
  observed.Run({.rows = kSlots, .pages = table, .observation = {.observer = 0, .from = 70}});
  std::vector<std::vector<std::int64_t>> kept;
  for (const Head& head : Heads())
    kept.push_back(
        Survivors(kRule, observed.observers.Importance(0, head.layer, head.kv_head, 20)));
  EXPECT_NE(kept[0], kept[1]);
  EXPECT_NE(kept[0], kept[2]);
}

TEST_P(Compaction, LeavesTheSameInPlace) {
  for (const bool keeps_first_pages : {false, true}) {
    Observed observed(GetParam());
    const auto table = observed.Take(kSlots);
    observed.Run({.rows = kSlots, .pages = table, .observation = {.observer = 0, .from = 70}});
    const auto expected = Expected(observed, kRule, table);
    // The first half of the pages is its own, the rest is not.
    auto to = table;
    if (keeps_first_pages) {
      const auto fresh = observed.Take(kRule.budget);
      to.resize(static_cast<std::size_t>(kRule.budget / 2 / GetParam().page_size));
      to.insert(to.end(), fresh.begin(), fresh.end());
    }
    observed.Compact({.observer = 0, .from = table, .slots = kSlots, .to = to, .keep = kRule});
    EXPECT_EQ(Found(observed, kRule.budget, to), expected);
  }
}

TEST_P(Compaction, KeepsAllThatTheBudgetHolds) {
  for (const std::int64_t budget : {kSlots - 1, kSlots, kSlots + 1}) {
    Observed observed(GetParam());
    const auto from = observed.Take(kSlots);
    const auto to = observed.Take(kSlots);
    observed.Run({.rows = kSlots, .pages = from, .observation = {.observer = 0, .from = 100}});
    const auto before = Found(observed, kSlots, from);
    observed.Compact({.observer = 0,
                      .from = from,
                      .slots = kSlots,
                      .to = to,
                      .keep = {.budget = budget, .recent = 5}});
    const std::int64_t kept = std::min(budget, kSlots);
    EXPECT_EQ(Found(observed, kept, to) == before, budget >= kSlots) << budget;
    EXPECT_EQ(std::ssize(observed.observers.Importance(0, 1, 1)), kept);
  }
}

// Row after row is noted in the next slot, at its own position; and it may be compacted again.
TEST_P(Compaction, GoesOnBehindTheSurvivors) {
  Observed observed(GetParam());
  auto table = observed.Take(kSlots);
  const Observation observation = {.observer = 0, .from = 100};
  observed.Run({.rows = kSlots, .pages = table, .observation = observation});
  const std::int64_t budget = kRule.budget;
  std::int64_t position = kSlots;
  for (int round = 0; round < 3; ++round) {
    const std::int64_t slots = round == 0 ? kSlots : budget + 6;
    const auto expected = Expected(observed, kRule, table);
    observed.Compact({.observer = 0, .from = table, .slots = slots, .to = table, .keep = kRule});
    ASSERT_EQ(Found(observed, budget, table), expected) << round;
    const auto before = observed.observers.Importance(0, 1, 0);
    observed.RunChunks({.rows = 6,
                        .first_position = position,
                        .pages = table,
                        .compacted = position - budget,
                        .observation = observation},
                       1 + 2 * round);
    std::vector<double> sums(before.begin(), before.end());
    for (int i = 0; i < 6; ++i) {
      sums.push_back(0);
      const auto row = observed.Probabilities(table, 1, 0, position + i, std::ssize(sums));
      for (std::size_t slot = 0; slot < row.size(); ++slot) sums[slot] += row[slot];
    }
    const auto after = observed.observers.Importance(0, 1, 0);
    ASSERT_EQ(after.size(), sums.size());
    for (std::size_t i = 0; i < sums.size(); ++i)
      EXPECT_NEAR(after[i], sums[i], 1e-5 + 1e-4 * sums[i]) << round << " " << i;
    position += 6;
  }
}

TEST(CompactionDeathTest, NamesWhatItMay) {
  Observed observed({.page_size = 16});
  const auto from = observed.Take(kSlots);
  const auto to = observed.Take(kSlots);
  const Observation observation = {.observer = 0, .from = 70};
  observed.Run({.rows = 80, .pages = from, .observation = observation});
  const auto compact = [&](std::span<const std::int32_t> source, std::int64_t slots,
                           std::span<const std::int32_t> target, const KeepRule& rule = kRule,
                           std::int32_t observer = 0) {
    observed.Compact({observer, source, slots, target, rule});
  };
  EXPECT_DEATH(compact(from, 79, to), "were observed");
  EXPECT_DEATH(compact(from, 81, to), "were observed");
  EXPECT_DEATH(compact(from, 80, to, kRule, 1), "has an observer");
  EXPECT_DEATH(compact(from, 80, to, kRule, -1), "has an observer");
  EXPECT_DEATH(compact(from, 80, to, {.budget = 4, .recent = 5}), "within its budget");
  EXPECT_DEATH(compact(std::span(from).first(4), 80, to), "cover its slots");
  EXPECT_DEATH(compact(from, 80, std::span(to).first(2)), "cover its slots");
  // 37 slots are three pages.
  const std::vector<std::int32_t> behind = {from[0], to[0], from[1]};
  compact(from, 80, behind);
  observed.Run({.rows = 80, .pages = from, .observation = observation});
  const std::vector<std::int32_t> before = {to[0], from[2], from[1]};
  EXPECT_DEATH(compact(from, 80, before), "before it was read");
}

// By the backend: attention over what is left has the bits that it has where nothing else was ever
// written. One layer and head, so that there is one choice.
class CompactedAttention : public ::testing::TestWithParam<ObservedKind> {};
INSTANTIATE_TEST_SUITE_P(
    Kinds, CompactedAttention,
    ::testing::Values(ObservedKind{KvFormat::kF16, 1, 3}, ObservedKind{KvFormat::kF16, 5, 3},
                      ObservedKind{KvFormat::kF16, 16, 3}, ObservedKind{KvFormat::kF16, 64, 1},
                      ObservedKind{KvFormat::kBf16, 16, 3}, ObservedKind{KvFormat::kFp8, 16, 3},
                      ObservedKind{KvFormat::kInt8, 5, 3}, ObservedKind{KvFormat::kInt8, 16, 3}),
    [](const auto& test) { return NameOf(test.param); });

TEST_P(CompactedAttention, IsThatOverTheSurvivorsAlone) {
  constexpr std::int32_t kHeadDim = 16;
  constexpr std::int32_t kTokens = 160;
  constexpr std::int32_t kMore = 5;
  const std::int32_t page_size = GetParam().page_size;
  const std::int32_t table_pages = (kTokens + kMore + page_size - 1) / page_size;
  Rig rig(2);
  rig.KeepFloats();
  ASSERT_TRUE(
      rig.backend->AllocatePages({1, 1, kHeadDim, page_size, 2 * table_pages, GetParam().format}));
  std::vector<std::int32_t> first;
  std::vector<std::int32_t> second;
  for (std::int32_t i = 0; i < table_pages; ++i) {
    first.push_back(2 * i);
    second.push_back(2 * i + 1);
  }
  const Rows q = RandomRows(kTokens + kMore, GetParam().group * kHeadDim, 1, 2.0F);
  const Rows k = RandomRows(kTokens + kMore, kHeadDim, 2);
  const Rows v = RandomRows(kTokens + kMore, kHeadDim, 3);
  const Rope rope{.dims = kHeadDim};
  // The rows of `run`, which are the tokens at its positions.
  const auto attend = [&](const RowRun& run) {
    const auto slice = [&](const Rows& rows) {
      return Rows(rows.begin() + run.first_position, rows.begin() + run.first_position + run.rows);
    };
    CpuBackend::Activations queries = rig.Load(slice(q));
    CpuBackend::Activations keys = rig.Load(slice(k));
    const CpuBackend::Activations values = rig.Load(slice(v));
    const AttentionSpan span{.scale = 0.25F, .rope = &rope};
    rig.backend->RopeAndStore(queries, keys, values, rope, {&run, 1}, 0);
    rig.backend->Observe(queries, span, {&run, 1}, 0);
    CpuBackend::Input out = rig.backend->MakeInput(run.rows, queries.cols());
    rig.backend->Attend(queries, span, {&run, 1}, 0, out);
    return rig.Floats(out, run.rows);
  };
  // All that is between: the survivors are tokens 0 .. 19 and 97 .. 159.
  const KeepRule rule = {.budget = 83, .recent = 63, .sinks = 20};
  const Observation observation = {.observer = 0, .from = 128};
  attend({.rows = kTokens, .pages = first, .observation = observation});
  const KvCompaction compaction = {0, first, kTokens, first, rule};
  rig.backend->Compact({&compaction, 1});
  attend({.rows = 20, .pages = second});
  attend({.rows = 63, .first_position = 97, .pages = second, .compacted = 77});
  const RowRun next = {.rows = kMore, .first_position = kTokens, .pages = first, .compacted = 77};
  RowRun alone = next;
  alone.pages = second;
  const Rows expected = attend(alone);
  EXPECT_EQ(attend(next), expected);
  // And one by one, observed.
  for (std::int32_t i = 0; i < kMore; ++i) {
    RowRun one = next;
    one.rows = 1;
    one.first_position += i;
    one.observation = observation;
    EXPECT_EQ(attend(one)[0], expected[static_cast<std::size_t>(i)]) << i;
  }
}

// A run of one row on pages of 16.
void Attend(const RowRun& run, std::int64_t layer_window = 0, bool observe = false) {
  Rig rig;
  if (!rig.backend->AllocatePages({1, 1, 8, 16, 8})) return;
  const CpuBackend::Activations q = rig.Load(RandomRows(1, 8, 1));
  CpuBackend::Input out = rig.backend->MakeInput(1, 8);
  const AttentionSpan span = {.window = layer_window};
  if (observe) return rig.backend->Observe(q, span, {&run, 1}, 0);
  rig.backend->Attend(q, span, {&run, 1}, 0, out);
}

TEST(CompactionDeathTest, IsForRunsThatSeeAll) {
  const std::vector<std::int32_t> pages = {0, 1};
  const RowRun run = {.rows = 1, .first_position = 100, .pages = pages, .compacted = 69};
  Attend(run);
  RowRun other = run;
  other.compacted = 68;
  EXPECT_DEATH(Attend(other), "covers its rows");
  other.compacted = 100;
  EXPECT_DEATH(Attend(other), "slots before a run were kept");
  other.compacted = -1;
  EXPECT_DEATH(Attend(other), "slots before a run were kept");
  other = run;
  other.window = {.window = 8};
  EXPECT_DEATH(Attend(other), "sees all its slots");
  EXPECT_DEATH(Attend(run, 8), "a window is of slots at positions");

  RowRun seen = {.rows = 1, .pages = pages, .observation = {.observer = 0}};
  Attend(seen, 0, true);
  EXPECT_DEATH(Attend(seen, 8, true), "sees all slots");
  seen.window = {.window = 8};
  EXPECT_DEATH(Attend(seen, 0, true), "sees all slots");
}

}  // namespace
}  // namespace banyan::kernels::testing
