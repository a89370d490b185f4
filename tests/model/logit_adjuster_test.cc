// Masks, biases and penalties: which logit becomes which.
#include "model/logit_adjuster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/model/sampling_oracle.h"

namespace banyan::model {
namespace {

using ::testing::ElementsAre;

constexpr float kNever = -std::numeric_limits<float>::infinity();

const std::vector<float> kLogits = {4, -4, 0, 2, -2};

std::vector<float> Adjusted(Drawing drawing) {
  LogitAdjuster adjuster(static_cast<std::int32_t>(kLogits.size()));
  const std::span<const float> adjusted = adjuster.Adjust(kLogits, drawing.At(1));
  return {adjusted.begin(), adjusted.end()};
}

TEST(Adjust, LeavesTheLogitsWhereThereIsNothingToDo) {
  LogitAdjuster adjuster(5);
  Drawing drawing{{.temperature = 0.5F, .top_k = 3, .top_p = 0.5F, .min_p = 0.5F}};
  drawing.prompt = {0, 1};
  EXPECT_EQ(adjuster.Adjust(kLogits, drawing.At(1)).data(), kLogits.data());
}

TEST(Adjust, RepetitionPenaltyDividesAboveZeroAndMultipliesBelow) {
  Drawing drawing{.prompt = {0, 1, 2}, .answer = {3}};
  drawing.sampling.repetition_penalty = 2;
  EXPECT_THAT(Adjusted(drawing), ElementsAre(2, -8, 0, 1, -2));
  drawing.sampling.repetition_penalty = 0.5F;
  EXPECT_THAT(Adjusted(drawing), ElementsAre(8, -2, 0, 4, -2));
}

TEST(Adjust, PresencePenaltyCountsTheAnswerOnce) {
  Drawing drawing{.prompt = {0, 1}, .answer = {1, 3, 3, 3}};
  drawing.sampling.presence_penalty = 0.5F;
  EXPECT_THAT(Adjusted(drawing), ElementsAre(4, -4.5F, 0, 1.5F, -2));
}

TEST(Adjust, FrequencyPenaltyCountsTheAnswerEachTime) {
  Drawing drawing{.prompt = {0, 1, 3}, .answer = {1, 3, 3, 3}};
  drawing.sampling.frequency_penalty = 0.5F;
  EXPECT_THAT(Adjusted(drawing), ElementsAre(4, -4.5F, 0, 0.5F, -2));
}

// ((2 + 2) / 2) - 2 * 0.5 - 0.25: any other order gives another number.
TEST(Adjust, BiasComesBeforePenaltiesAndRepetitionBeforeTheOthers) {
  Drawing drawing{.answer = {3, 3}, .logit_bias = {{3, 2}}};
  drawing.sampling.repetition_penalty = 2;
  drawing.sampling.frequency_penalty = 0.5F;
  drawing.sampling.presence_penalty = 0.25F;
  EXPECT_THAT(Adjusted(drawing), ElementsAre(4, -4, 0, 0.75F, -2));
}

TEST(Adjust, WhatIsForbiddenStaysSo) {
  Drawing drawing{.prompt = {0, 1},
                  .answer = {0, 1},
                  .logit_bias = {{0, 100}, {1, 100}},
                  .forbidden = {0},
                  .token_mask = {0b11101}};
  drawing.sampling.repetition_penalty = 0.5F;
  drawing.sampling.frequency_penalty = -2;
  EXPECT_THAT(Adjusted(drawing), ElementsAre(kNever, kNever, 0, 2, -2));
}

TEST(Adjust, CountsAfreshEachTime) {
  LogitAdjuster adjuster(5);
  Drawing drawing{.answer = {0, 0, 1}};
  drawing.sampling.frequency_penalty = 1;
  for (int again = 0; again < 3; ++again) {
    const auto adjusted = adjuster.Adjust(kLogits, drawing.At(1));
    EXPECT_THAT(std::vector<float>(adjusted.begin(), adjusted.end()), ElementsAre(2, -5, 0, 2, -2));
  }
  drawing.answer = {4};
  const auto adjusted = adjuster.Adjust(kLogits, drawing.At(1));
  EXPECT_THAT(std::vector<float>(adjusted.begin(), adjusted.end()), ElementsAre(4, -4, 0, 2, -3));
}

TEST(Adjust, AMaskAcrossWords) {
  const std::vector<float> logits(130, 1.0F);
  for (const std::size_t hidden : {0, 63, 64, 127, 128, 129}) {
    Drawing drawing{.token_mask = {~std::uint64_t{0}, ~std::uint64_t{0}, ~std::uint64_t{0}}};
    drawing.token_mask[hidden / 64] &= ~(std::uint64_t{1} << (hidden % 64));
    LogitAdjuster adjuster(130);
    const auto adjusted = adjuster.Adjust(logits, drawing.At(1));
    for (std::size_t i = 0; i < logits.size(); ++i) {
      EXPECT_EQ(adjusted[i], i == hidden ? kNever : 1.0F);
    }
  }
}

TEST(AdjustDeathTest, WhatIsNoTokenOrNoNumber) {
  Drawing penalized;
  penalized.sampling.presence_penalty = 1;
  for (const TokenId token : {-1, 5}) {
    Drawing biased{.logit_bias = {{token, 1}}};
    EXPECT_DEATH(Adjusted(biased), "CHECK failed");
    penalized.prompt = {token};
    EXPECT_DEATH(Adjusted(penalized), "CHECK failed");
  }
  EXPECT_DEATH(Adjusted({.logit_bias = {{0, kNever}}}), "CHECK failed");
  EXPECT_DEATH(Adjusted({.token_mask = {1, 1}}), "CHECK failed");
}

}  // namespace
}  // namespace banyan::model
