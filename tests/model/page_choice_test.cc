// Sequences whose tokens read chosen pages only, through whole models.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "tests/model/sequence_run.h"

namespace banyan::model {
namespace {

constexpr std::int64_t kPrompt = 100;
constexpr int kTokens = 150;

std::unique_ptr<Model> LoadModel(const TinyOptions& tiny, std::int32_t threads = 2,
                                 kernels::KvFormat format = kernels::KvFormat::kF16) {
  return LoadTiny(tiny, {.threads = threads,
                         .page_size = 16,
                         .kv_memory = std::int64_t{4} << 20,
                         .kv_format = format,
                         .max_batch_tokens = 320});
}

std::vector<PageId> Pages(PageId first) {
  std::vector<PageId> pages(10);
  std::iota(pages.begin(), pages.end(), first);
  std::reverse(pages.begin(), pages.end());
  return pages;
}

// A prompt that is exact, and then tokens that are given: the logits behind the prompt.
std::vector<float> Read(Model& model, const std::vector<TokenId>& tokens,
                        const kernels::PageChoice& choice, std::int64_t chunk,
                        const std::vector<Sequence>& others = {}) {
  const std::vector<PageId> pages = Pages(0);
  std::vector<float> logits;
  for (std::int64_t at = 0; at < kTokens;) {
    const bool is_exact = at < kPrompt;
    const std::int64_t count = std::min(chunk, (is_exact ? kPrompt : kTokens) - at);
    Batch batch;
    batch.sequences = others;
    batch.sequences.push_back({.tokens = std::span(tokens).subspan(static_cast<std::size_t>(at),
                                                                   static_cast<std::size_t>(count)),
                               .first_position = at,
                               .pages = pages,
                               .choice = is_exact ? kernels::PageChoice{} : choice,
                               .logits = is_exact ? Logits::kNone : Logits::kReturnAll});
    StepResult result;
    EXPECT_TRUE(model.Forward(batch, result).ok());
    const std::vector<float>& some = result.sequences.back().logits;
    logits.insert(logits.end(), some.begin(), some.end());
    at += count;
  }
  return logits;
}

class TinyChoice : public ::testing::TestWithParam<TinyOptions> {};
INSTANTIATE_TEST_SUITE_P(
    Families, TinyChoice,
    ::testing::Values(TinyOptions{.rope_factors = {1, 1, 1, 2, 3, 8, 8, 8}},
                      TinyOptions{.family = "qwen2", .type = kernels::DType::kQ8_0, .rope_dims = 8},
                      TinyOptions{.family = "qwen3", .type = kernels::DType::kQ4_1, .kv_heads = 1}),
    [](const auto& test) { return test.param.family; });

TEST_P(TinyChoice, OfAllPagesChangesNothing) {
  const auto model = LoadModel(GetParam());
  const std::vector<TokenId> tokens = RandomTokens(*model, kTokens, 1);
  const std::vector<float> exact = Read(*model, tokens, {}, 50);
  EXPECT_TRUE(AreSameBits(Read(*model, tokens, {.pages = 10}, 7), exact));
  EXPECT_TRUE(AreSameBits(Read(*model, tokens, {.pages = 1, .dense_layers = 100}, 7), exact));
  EXPECT_FALSE(AreSameBits(Read(*model, tokens, {.pages = 3}, 7), exact));
}

// Alone and beside others, however it is cut into steps, on any number of threads.
TEST_P(TinyChoice, GivesTheSameBitsHoweverItIsDone) {
  for (const kernels::KvFormat format : {kernels::KvFormat::kF16, kernels::KvFormat::kInt8}) {
    const kernels::PageChoice choice = {.pages = 3, .dense_layers = 1};
    const auto model = LoadModel(GetParam(), 1, format);
    const std::vector<TokenId> tokens = RandomTokens(*model, kTokens, 2);
    const std::vector<float> expected = Read(*model, tokens, choice, 50);
    EXPECT_TRUE(AreSameBits(Read(*model, tokens, choice, 1), expected));
    EXPECT_TRUE(AreSameBits(Read(*LoadModel(GetParam(), 3, format), tokens, choice, 7), expected));

    const std::vector<TokenId> theirs = RandomTokens(*model, kTokens, 3);
    const std::vector<PageId> pages[] = {Pages(10), Pages(20)};
    const std::vector<Sequence> others = {
        {.tokens = theirs, .pages = pages[0]},
        {.tokens = theirs, .pages = pages[1], .choice = {.pages = 2}}};
    EXPECT_TRUE(
        AreSameBits(Read(*LoadModel(GetParam(), 2, format), tokens, choice, 9, others), expected));
  }
}

TEST(ChoiceDeathTest, IsForModelsWhoseLayersSeeAll) {
  const auto model = LoadModel({.family = "gemma3", .layers = 7, .window = 21});
  EXPECT_DEATH(Read(*model, RandomTokens(*model, kTokens, 1), {.pages = 3}, 50), "CHECK failed");
}

}  // namespace
}  // namespace banyan::model
