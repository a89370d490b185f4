// Sequences of which only the slots that matter most are kept, in every layer and head.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>

#include "tests/model/sequence_run.h"

namespace banyan::model {
namespace {

using kernels::KeepRule;
using kernels::Observation;
using kernels::SlotImportance;

std::unique_ptr<Model> LoadModel(const TinyOptions& tiny, std::int32_t page_size = 16,
                                 std::int32_t threads = 2,
                                 kernels::KvFormat format = kernels::KvFormat::kF16) {
  return LoadTiny(tiny, {.threads = threads,
                         .page_size = page_size,
                         .kv_memory = std::int64_t{4} << 20,
                         .kv_format = format,
                         .max_batch_tokens = 160});
}

enum class Place : std::uint8_t { kThere, kElsewhere };

// One sequence, which is observed from `observation.from` on and compacted when it is told to.
class Kept : public SequenceRun {
 public:
  Kept(Model& model, const Observation& observation)
      : SequenceRun(
            model, static_cast<std::int64_t>(model.page_bytes()) / model.facts().kv_bytes_per_token,
            {.observation = observation}) {}

  // With the next step.
  void Compact(const KeepRule& rule, Place place) {
    before_ = table_;
    const std::int64_t from = slots();
    if (place == Place::kElsewhere) {
      table_.clear();
      Take(rule.kept(from));
    }
    target_ = table_;  // pages to come are not in what it names
    compactions_.push_back({next_.observation.observer, before_, from, target_, rule});
    next_.compacted = position() - rule.kept(from);
  }

  const std::vector<PageId>& before() const { return before_; }

 private:
  std::vector<PageId> before_;
  std::vector<PageId> target_;
};

class TinyCompaction : public ::testing::TestWithParam<TinyOptions> {};
INSTANTIATE_TEST_SUITE_P(
    Families, TinyCompaction,
    ::testing::Values(TinyOptions{.rope_factors = {1, 1, 1, 2, 3, 8, 8, 8}},
                      TinyOptions{.family = "qwen2", .type = kernels::DType::kQ8_0, .rope_dims = 8},
                      TinyOptions{.family = "qwen3", .type = kernels::DType::kQ4_1, .kv_heads = 1}),
    [](const auto& test) { return test.param.family; });

TEST_P(TinyCompaction, ABudgetForAllChangesNothing) {
  const auto model = LoadModel(GetParam());
  const std::vector<TokenId> tokens = RandomTokens(*model, 130);
  const std::vector<float> plain = Kept(*model, {}).Run(tokens);
  for (const Place place : {Place::kThere, Place::kElsewhere}) {
    Kept kept(*model, {.observer = 5, .from = 70});
    std::vector<float> logits = kept.Run(std::span(tokens).first(100));
    for (int i = 100; i < 130; i += 10) {
      kept.Compact({.budget = 130, .recent = 10}, place);
      const std::vector<float> more =
          kept.RunChunks(std::span(tokens).subspan(static_cast<std::size_t>(i), 10), 3);
      logits.insert(logits.end(), more.begin(), more.end());
    }
    EXPECT_TRUE(AreSameBits(logits, plain));
  }
}

// A prompt, and then tokens of which each is given: whenever the slots are a page over the budget
// they are compacted. The logits of what follows the prompt.
std::vector<float> Roll(Model& model, SlotImportance by, std::size_t chunk, std::size_t step,
                        Place place) {
  constexpr std::int64_t kBudget = 48;
  constexpr std::size_t kPrompt = 120;
  const std::vector<TokenId> tokens = RandomTokens(model, 200);
  Kept kept(model, {.observer = 1, .from = 88, .by = by});
  kept.RunChunks(std::span(tokens).first(kPrompt), chunk);
  std::vector<float> logits;
  for (std::size_t at = kPrompt; at < tokens.size(); at += 16) {
    kept.Compact({.budget = kBudget, .recent = 16, .history = 24, .pooled = 3}, place);
    EXPECT_EQ(kept.slots(), kBudget);
    const std::vector<float> more = kept.RunChunks(std::span(tokens).subspan(at, 16), step);
    logits.insert(logits.end(), more.begin(), more.end());
  }
  return logits;
}

TEST_P(TinyCompaction, GivesTheSameBitsHoweverItIsDone) {
  for (const SlotImportance by : {SlotImportance::kSum, SlotImportance::kHistory}) {
    const auto model = LoadModel(GetParam());
    const std::vector<float> expected = Roll(*model, by, 120, 16, Place::kElsewhere);
    EXPECT_TRUE(AreSameBits(Roll(*model, by, 120, 1, Place::kElsewhere), expected));
    EXPECT_TRUE(AreSameBits(Roll(*model, by, 120, 5, Place::kThere), expected));
    EXPECT_TRUE(AreSameBits(Roll(*model, by, 37, 16, Place::kThere), expected));
    EXPECT_TRUE(
        AreSameBits(Roll(*LoadModel(GetParam(), 5, 1), by, 37, 4, Place::kThere), expected));
    EXPECT_TRUE(
        AreSameBits(Roll(*LoadModel(GetParam(), 64, 3), by, 99, 3, Place::kElsewhere), expected));
  }
}

TEST(Compaction, IsNotOfPagesThatAreSealed) {
  EXPECT_TRUE(LoadModel({.head_dim = 32}, 16, 1)->facts().compacts);
  EXPECT_FALSE(LoadModel({.head_dim = 32}, 16, 1, kernels::KvFormat::kInt4)->facts().compacts);
}

// With one layer keys and values are a function of token and position alone. So what follows the
// survivors, which their bytes tell, follows them too where nothing else has ever been written.
TEST(Compaction, GoesOnFromTheSurvivorsAlone) {
  for (const kernels::KvFormat format : kernels::kKvFormats) {
    if (kernels::SealsPages(format)) continue;
    const auto model = LoadModel({.layers = 1, .kv_heads = 1}, /*page_size=*/1, 2, format);
    const std::vector<TokenId> tokens = RandomTokens(*model, 104);
    const auto prompt = std::span(tokens).first(100);
    const auto more = std::span(tokens).subspan(100);
    Kept kept(*model, {.observer = 0, .from = 80});
    kept.Run(prompt);
    kept.Compact({.budget = 30, .recent = 8, .sinks = 1}, Place::kElsewhere);
    const std::vector<float> logits = kept.Run(more);

    const auto bytes_of = [&](PageId page) {
      std::vector<std::byte> bytes(model->page_bytes());
      model->ReadPage(page, bytes);
      return bytes;
    };
    // At the beginning of the pool, of which the others take from the end.
    std::vector<PageId> alone(34);
    std::iota(alone.begin(), alone.end(), 0);
    std::int64_t token = 0;
    for (std::int64_t slot = 0; slot < 30; ++slot, ++token) {
      const auto bytes = bytes_of(kept.table()[static_cast<std::size_t>(slot)]);
      while (bytes_of(kept.before().at(static_cast<std::size_t>(token))) != bytes) ++token;
      ASSERT_LT(token, 100);
      Batch batch;
      batch.sequences.push_back({.tokens = prompt.subspan(static_cast<std::size_t>(token), 1),
                                 .first_position = token,
                                 .pages = alone,
                                 .compacted = token - slot});
      StepResult result;
      ASSERT_TRUE(model->Forward(batch, result).ok());
    }
    EXPECT_EQ(token, 100) << "the last ones are kept";
    Batch batch;
    batch.sequences.push_back({.tokens = more,
                               .first_position = 100,
                               .pages = alone,
                               .compacted = 70,
                               .logits = Logits::kReturnAll});
    StepResult result;
    ASSERT_TRUE(model->Forward(batch, result).ok());
    EXPECT_TRUE(AreSameBits(result.sequences[0].logits, logits));

    Kept all(*model, {});
    all.Run(prompt);
    EXPECT_FALSE(AreSameBits(all.Run(more), logits)) << "what was given up would have mattered";
  }
}

TEST(CompactionDeathTest, IsForModelsWhoseLayersSeeAll) {
  const auto model = LoadModel({.family = "gemma3", .layers = 7, .window = 21});
  Kept kept(*model, {.observer = 0});
  EXPECT_DEATH(kept.Run(std::vector<TokenId>{1}), "CHECK failed");
}

// The null model reads the last slot alone, which always survives.
TEST(Compaction, ChangesNothingOfTheNullModel) {
  const Options options{.page_size = 4, .kv_memory = 1 << 16, .max_batch_tokens = 64};
  const auto model = *Model::Null(options, 2, 128);
  const std::vector<TokenId> tokens = RandomTokens(*model, 60);
  const std::vector<float> plain = Kept(*model, {}).Run(tokens);
  for (const Place place : {Place::kThere, Place::kElsewhere}) {
    Kept kept(*model, {.observer = 0});
    std::vector<float> logits = kept.Run(std::span(tokens).first(40));
    kept.Compact({.budget = 7, .recent = 3}, place);
    const std::vector<float> more = kept.RunChunks(std::span(tokens).subspan(40), 3);
    logits.insert(logits.end(), more.begin(), more.end());
    EXPECT_TRUE(AreSameBits(logits, plain));
  }
}

}  // namespace
}  // namespace banyan::model
