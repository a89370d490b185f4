// Windows of a text, the pages that a reading takes, and models compared over a text.
#include "server/eval/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/eval/reading.h"
#include "server/eval/windows.h"
#include "tests/model/tiny_model.h"

namespace banyan::server {
namespace {

using scheduler::KvPolicy;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::int32_t kPageSize = 8;
constexpr std::int32_t kBatchTokens = 16;
constexpr std::int64_t kPages = 10;
constexpr std::int64_t kF16Bytes = 256;  // of a token of the tiny model

std::unique_ptr<model::Model> Load(kernels::KvFormat format, std::int64_t pages = kPages) {
  const model::TinyModel tiny({.type = kernels::DType::kF32});
  auto model = model::Model::Load(model::OpenBytes(tiny.Write()),
                                  {.page_size = kPageSize,
                                   .kv_memory = pages * kPageSize * kF16Bytes,
                                   .kv_format = format,
                                   .max_batch_tokens = kBatchTokens});
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

EvaluatedModel Evaluated(model::Model& model,
                         const std::optional<scheduler::KvPolicy>& policy = std::nullopt) {
  return {model, kPageSize, kBatchTokens, policy};
}

Window Tokens(int count, std::uint64_t seed) {
  model::Random random(seed);
  Window tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(static_cast<TokenId>(random.Below(100)));
  return tokens;
}

void Ignore(std::int64_t /*done*/, std::int64_t /*all*/) {}

std::vector<Window> Cut(const Window& text, const Window& begin, std::int64_t context) {
  auto windows = CutWindows(text, begin, context);
  EXPECT_TRUE(windows.ok()) << windows.status();
  return windows.ok() ? *std::move(windows) : std::vector<Window>();
}

TEST(Windows, DoNotOverlapAndTheLastMayBeShorter) {
  EXPECT_THAT(Cut({1, 2, 3, 4, 5, 6, 7, 8}, {}, 3),
              ElementsAre(Window{1, 2, 3}, Window{4, 5, 6}, Window{7, 8}));
}

TEST(Windows, OfOneTokenHaveNothingToPredict) {
  EXPECT_THAT(Cut({1, 2, 3, 4}, {}, 3), ElementsAre(Window{1, 2, 3}));
  EXPECT_FALSE(CutWindows(Window{1}, {}, 3).ok());
  EXPECT_FALSE(CutWindows(Window{}, {}, 3).ok());
  EXPECT_FALSE(CutWindows(Window{}, Window{9}, 3).ok());
}

TEST(Windows, BeginAsTheModelWants) {
  EXPECT_THAT(Cut({1, 2, 3, 4, 5}, {9}, 3),
              ElementsAre(Window{9, 1, 2}, Window{9, 3, 4}, Window{9, 5}));
  EXPECT_THAT(Cut({1}, {9}, 3), ElementsAre(Window{9, 1}));
}

TEST(Windows, AModelMayWantNothingBeforeAText) {
  const auto begin = BeginOfText(*text::Codec::ForBytes());
  ASSERT_TRUE(begin.ok()) << begin.status();
  EXPECT_THAT(*begin, IsEmpty());
}

TEST(Reading, HoldsThePagesThatItsTokensNeed) {
  const auto model = Load(kernels::KvFormat::kF16);
  Reading reading(Evaluated(*model), 1);
  ASSERT_TRUE(reading.Read(Tokens(8, 1), Logits::kNone).ok());
  EXPECT_EQ(reading.use().peak_pages, 1);
  ASSERT_TRUE(reading.Read(Tokens(1, 2), Logits::kNone).ok());
  EXPECT_EQ(reading.use().peak_pages, 2);
  EXPECT_EQ(reading.use().tokens, 9);
  // As if the tokens came one by one: 1..8 in a page of 8 slots, and 9 in two.
  EXPECT_EQ(reading.use().slots_over_time, 8 * 8 + 16);
  EXPECT_EQ(reading.use().tokens_over_time, 9 * 10 / 2);
}

TEST(Reading, FillsThePoolToItsLastSlot) {
  const auto model = Load(kernels::KvFormat::kF16);
  ASSERT_EQ(model->pages(), kPages);
  Reading reading(Evaluated(*model), 1);
  ASSERT_TRUE(ReadPrompt(Tokens(kPages * kPageSize, 1), kBatchTokens, reading).ok());
  EXPECT_EQ(reading.use().peak_pages, kPages);
  EXPECT_DEATH((void)reading.Read(Tokens(1, 2), Logits::kNone), "CHECK failed");
}

TEST(Reading, TheSameLogitsComeInChunksAndAtOnce) {
  const auto model = Load(kernels::KvFormat::kInt8);
  const Window text = Tokens(12, 3);
  Reading whole(Evaluated(*model), 1);
  ASSERT_TRUE(whole.Read(text, Logits::kReturnAll).ok());
  ASSERT_EQ(whole.logits().size(), 12 * 100U);
  const std::vector<float> last(whole.logits().end() - 100, whole.logits().end());
  const TokenId greedy = whole.greedy();
  Reading parts(Evaluated(*model), 1);
  ASSERT_TRUE(ReadPrompt(std::span(text).first(11), 4, parts).ok());
  ASSERT_TRUE(parts.Read(std::span(text).last(1), Logits::kReturnAll).ok());
  EXPECT_EQ(std::vector<float>(parts.logits().begin(), parts.logits().end()), last);
  EXPECT_EQ(parts.greedy(), greedy);
}

TEST(Reading, GivesUpPagesThatNoWindowReaches) {
  const auto model = Load(kernels::KvFormat::kF16);
  // Sinks in the first page; 16 keys lie in at most 3 pages of 8. The text has three times as many
  // tokens as the pool has slots.
  Reading reading(Evaluated(*model, KvPolicy{.sinks = 4, .window = 16}), 1);
  ASSERT_TRUE(ReadPrompt(Tokens(3 * kPages * kPageSize, 1), kBatchTokens, reading).ok());
  EXPECT_EQ(reading.use().tokens, 3 * kPages * kPageSize);
  EXPECT_EQ(reading.use().peak_pages, 4);
}

TEST(Reading, AWindowSeesTheSameInChunksAndOneByOne) {
  const auto model = Load(kernels::KvFormat::kF16);
  const Window text = Tokens(60, 4);
  const auto last = [&](std::int32_t chunk) {
    Reading reading(Evaluated(*model, KvPolicy{.sinks = 3, .window = 9}), 1);
    EXPECT_TRUE(ReadPrompt(std::span(text).first(59), chunk, reading).ok());
    EXPECT_TRUE(reading.Read(std::span(text).last(1), Logits::kReturnAll).ok());
    return std::vector<float>(reading.logits().begin(), reading.logits().end());
  };
  const std::vector<float> one_by_one = last(1);
  EXPECT_EQ(last(16), one_by_one);
  EXPECT_EQ(last(7), one_by_one);
}

// 16 slots survive of 24, and one page of 8 is for what comes next.
constexpr KvPolicy kHeavy{.type = KvPolicy::Type::kH2o, .budget = 16, .observe = 8};

TEST(Reading, HoldsWhatSurvivesOfATextInConstantMemory) {
  const auto model = Load(kernels::KvFormat::kF16);
  Reading reading(Evaluated(*model, kHeavy), 1);
  ASSERT_TRUE(ReadPrompt(Tokens(24, 1), kBatchTokens, reading).ok());
  EXPECT_EQ(reading.use().peak_pages, 3);
  // What is chosen from and what survives of it are there at once.
  ASSERT_TRUE(reading.Read(Tokens(1, 2), Logits::kNone).ok());
  EXPECT_EQ(reading.use().peak_pages, 3 + 3);
  ASSERT_TRUE(ReadPrompt(Tokens(3 * kPages * kPageSize, 3), kBatchTokens, reading).ok());
  EXPECT_EQ(reading.use().peak_pages, 6);
  EXPECT_EQ(reading.use().tokens, 25 + 3 * kPages * kPageSize);
}

// Prompts and what survives of them end anywhere in a page: each has pages of its own.
TEST(Reading, HoldsNoMorePagesThanItSays) {
  for (const auto type : {KvPolicy::Type::kStreaming, KvPolicy::Type::kH2o, KvPolicy::Type::kSnapKv,
                          KvPolicy::Type::kQuest}) {
    for (const int tokens : {2, 8, 9, 20, 24}) {
      for (const std::int64_t prompt : {tokens / 2, tokens - 1}) {
        for (const std::int64_t budget : {prompt - 1, prompt - 9}) {
          if (budget < (type == KvPolicy::Type::kQuest ? kPageSize : 1)) continue;
          SCOPED_TRACE(std::to_string(tokens) + " tokens, budget " + std::to_string(budget));
          const KvPolicy policy{.type = type, .sinks = 0, .window = budget, .budget = budget};
          const std::int64_t pages = MostPages(policy, tokens, kPageSize);
          const auto model = Load(kernels::KvFormat::kF16, pages);
          ASSERT_EQ(model->pages(), pages);
          Reading reading(Evaluated(*model, policy), prompt);
          ASSERT_TRUE(ReadPrompt(Tokens(tokens, 1), kBatchTokens, reading).ok());
          EXPECT_LE(reading.use().peak_pages, pages);
        }
      }
    }
  }
}

TEST(Reading, WhatSurvivesIsTheSameInChunksAndOneByOne) {
  const auto model = Load(kernels::KvFormat::kF16);
  const Window text = Tokens(75, 4);
  for (const auto type : {KvPolicy::Type::kH2o, KvPolicy::Type::kScissorhands,
                          KvPolicy::Type::kSnapKv, KvPolicy::Type::kQuest}) {
    KvPolicy policy = kHeavy;
    policy.type = type;
    policy.dense_layers = 1;
    for (const std::int64_t prompt : {1, 40}) {
      const auto last = [&](std::int32_t chunk) {
        Reading reading(Evaluated(*model, policy), prompt);
        EXPECT_TRUE(ReadPrompt(std::span(text).first(60), chunk, reading).ok());
        EXPECT_TRUE(reading.Read(std::span(text).subspan(60), Logits::kReturnAll).ok());
        return std::vector<float>(reading.logits().begin(), reading.logits().end());
      };
      const std::vector<float> one_by_one = last(1);
      EXPECT_EQ(one_by_one.size(), 15 * 100U);
      EXPECT_EQ(last(16), one_by_one) << Name(type) << ", a prompt of " << prompt;
      EXPECT_EQ(last(7), one_by_one) << Name(type) << ", a prompt of " << prompt;
    }
  }
}

// Windows of so many tokens read as exactly, and of one more do not.
void ExpectExactUpTo(std::int64_t first, const KvPolicy& policy, int tokens) {
  const auto exact = Load(kernels::KvFormat::kF16);
  const auto other = Load(kernels::KvFormat::kF16);
  const auto divergence = [&](std::int64_t length) {
    Window window = Tokens(tokens, 1);
    window.resize(static_cast<std::size_t>(length));
    const std::vector<Window> windows = {window};
    const auto result =
        CompareOverText(windows, Evaluated(*exact), Evaluated(*other, policy), Ignore);
    EXPECT_TRUE(result.ok()) << result.status();
    return result->quality.mean_divergence;
  };
  EXPECT_EQ(divergence(first), 0) << Name(policy.type);
  EXPECT_GT(divergence(first + 1), 0) << Name(policy.type);
}

TEST(CompareOverText, AnAnswerToOneTokenIsExactUntilItIsCompacted) {
  // The first token that does not see all is the 25th; the last token of a window predicts nothing.
  ExpectExactUpTo(25, kHeavy, 40);
  KvPolicy persistent = kHeavy;
  persistent.type = KvPolicy::Type::kScissorhands;
  ExpectExactUpTo(25, persistent, 40);
}

// 24 tokens have three pages: the 25th has one more than it reads.
TEST(CompareOverText, AnAnswerIsExactUntilItHasMorePagesThanItReads) {
  ExpectExactUpTo(25, {.type = KvPolicy::Type::kQuest, .budget = 24, .dense_layers = 0}, 40);
}

TEST(CompareOverText, HalfAWindowIsAPromptThatIsCompactedOnce) {
  const auto exact = Load(kernels::KvFormat::kF16);
  const auto other = Load(kernels::KvFormat::kF16);
  const auto divergence = [&](std::int64_t budget) {
    const KvPolicy policy{.type = KvPolicy::Type::kSnapKv, .budget = budget, .observe = 4};
    const std::vector<Window> windows = {Tokens(41, 1)};
    const auto result =
        CompareOverText(windows, Evaluated(*exact), Evaluated(*other, policy), Ignore);
    EXPECT_TRUE(result.ok()) << result.status();
    return result->quality.mean_divergence;
  };
  EXPECT_EQ(divergence(21), 0);
  EXPECT_GT(divergence(20), 0);
}

TEST(CompareOverText, AWindowCostsNothingUntilItCuts) {
  const auto exact = Load(kernels::KvFormat::kF16);
  const auto other = Load(kernels::KvFormat::kF16);
  const auto divergence = [&](int tokens) {
    const EvaluatedModel streaming = Evaluated(*other, KvPolicy{.sinks = 4, .window = 16});
    const std::vector<Window> windows = {Tokens(tokens, 1)};
    const auto result = CompareOverText(windows, Evaluated(*exact), streaming, Ignore);
    EXPECT_TRUE(result.ok()) << result.status();
    return result->quality.mean_divergence;
  };
  // The last token of a window predicts nothing.
  EXPECT_EQ(divergence(21), 0);
  EXPECT_GT(divergence(22), 0);
}

TEST(CompareOverText, ExactPagesAreExactlyThemselves) {
  const auto exact = Load(kernels::KvFormat::kF16);
  const auto other = Load(kernels::KvFormat::kF16);
  const std::vector<Window> windows = {Tokens(70, 1), Tokens(31, 2)};
  std::vector<std::pair<std::int64_t, std::int64_t>> told;
  const auto result =
      CompareOverText(windows, Evaluated(*exact), Evaluated(*other),
                      [&](std::int64_t done, std::int64_t all) { told.emplace_back(done, all); });
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->quality.tokens, 69 + 30);
  EXPECT_EQ(result->quality.mean_divergence, 0);
  EXPECT_EQ(result->quality.p99_divergence, 0);
  EXPECT_EQ(result->quality.greedy_agreement, 1);
  EXPECT_EQ(result->quality.ratio, 1);
  EXPECT_EQ(result->quality.ratio_error, 0);
  EXPECT_EQ(result->quality.perplexity, result->quality.exact_perplexity);
  EXPECT_EQ(result->peak_pages, 9) << "of the longer window";
  EXPECT_GT(result->page_fill, 0.8);
  EXPECT_LT(result->page_fill, 1);
  EXPECT_THAT(told, ElementsAre(std::pair(1, 2), std::pair(2, 2)));
}

TEST(CompareOverText, CoarserPagesDivergeMore) {
  const auto exact = Load(kernels::KvFormat::kF16);
  const std::vector<Window> windows = {Tokens(64, 1)};
  const auto divergence = [&](kernels::KvFormat format) {
    const auto other = Load(format);
    const auto result = CompareOverText(windows, Evaluated(*exact), Evaluated(*other), Ignore);
    EXPECT_TRUE(result.ok()) << result.status();
    return result->quality.mean_divergence;
  };
  const double int8 = divergence(kernels::KvFormat::kInt8);
  const double fp8 = divergence(kernels::KvFormat::kFp8);
  EXPECT_GT(int8, 0);
  EXPECT_GT(fp8, int8);
}

TEST(MeasureDecode, SaysWhatWasTimed) {
  const auto model = Load(kernels::KvFormat::kF16);
  const auto speed = MeasureDecode(Tokens(21, 1), Evaluated(*model));
  ASSERT_TRUE(speed.ok()) << speed.status();
  EXPECT_EQ(speed->context, 20);
  EXPECT_EQ(speed->steps, 10);
  EXPECT_GT(speed->tokens_per_second, 0);
  const auto shortest = MeasureDecode(Tokens(2, 1), Evaluated(*model));
  ASSERT_TRUE(shortest.ok()) << shortest.status();
  EXPECT_EQ(shortest->steps, 1);
}

}  // namespace
}  // namespace banyan::server
