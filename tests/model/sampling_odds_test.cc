// Many draws against exact probabilities: each method alone and all of them together. The seed is
// fixed, so that a test that passes once always does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "model/sampler.h"
#include "tests/model/sampling_oracle.h"

namespace banyan::model {
namespace {

constexpr std::size_t kTokens = 16;

std::map<TokenId, int> Histogram(const std::vector<float>& logits, Drawing drawing) {
  Sampler sampler(static_cast<std::int32_t>(logits.size()));
  std::map<TokenId, int> counts;
  for (int i = 1; i <= kDraws; ++i) ++counts[sampler.Sample(logits, drawing.At(i)).value()];
  return counts;
}

void ExpectOdds(Drawing drawing, const std::vector<float>& logits = SomeLogits(kTokens, 2)) {
  drawing.sampling.seed = 11;
  const ChiSquare chi = Compare(Histogram(logits, drawing), ExactProbabilities(logits, drawing));
  EXPECT_LT(chi.statistic, Bound(chi.degrees)) << chi.degrees << " degrees";
}

TEST(Odds, OfTemperature) {
  for (const float temperature : {0.0F, 0.7F, 1.0F, 2.0F})
    ExpectOdds({{.temperature = temperature}});
}

TEST(Odds, OfTopK) {
  for (int k = 1; k <= 17; ++k) ExpectOdds({{.top_k = k}});
}

TEST(Odds, OfTopP) {
  for (int percent = 3; percent <= 100; percent += 7) {
    ExpectOdds({{.top_p = static_cast<float>(percent) / 100}});
  }
}

TEST(Odds, OfMinP) {
  for (int percent = 0; percent <= 100; percent += 9) {
    ExpectOdds({{.min_p = static_cast<float>(percent) / 100}});
  }
}

// Tokens of the prompt alone, of the answer alone, of both; above and below zero.
const Drawing kSpoken{.prompt = {0, 1, 2, 2, 3, 9}, .answer = {3, 4, 5, 5, 5, 6, 9}};

TEST(Odds, OfRepetitionPenalty) {
  for (const float penalty : {0.5F, 0.9F, 1.0F, 1.2F, 1.5F}) {
    Drawing drawing = kSpoken;
    drawing.sampling.repetition_penalty = penalty;
    ExpectOdds(drawing);
  }
}

TEST(Odds, OfPresencePenalty) {
  for (const float penalty : {-2.0F, -0.5F, 0.0F, 0.5F, 2.0F}) {
    Drawing drawing = kSpoken;
    drawing.sampling.presence_penalty = penalty;
    ExpectOdds(drawing);
  }
}

TEST(Odds, OfFrequencyPenalty) {
  for (const float penalty : {-1.0F, -0.5F, 0.0F, 0.25F, 0.5F}) {
    Drawing drawing = kSpoken;
    drawing.sampling.frequency_penalty = penalty;
    ExpectOdds(drawing);
  }
}

TEST(Odds, OfLogitBias) {
  ExpectOdds({.logit_bias = {{0, 1.5F}, {3, -1.0F}, {5, 0.0F}, {15, 2.0F}}});
  ExpectOdds({.logit_bias = {{0, -100.0F}, {3, -100.0F}}});
  ExpectOdds({.logit_bias = {{7, 100.0F}}});
}

TEST(Odds, OfForbiddenTokens) { ExpectOdds({.forbidden = {0, 1, 7, 15}}); }

TEST(Odds, OfAMask) {
  ExpectOdds({.token_mask = {0b1010'0110'1100'1001}});
  std::vector<std::uint64_t> mask(3);
  for (const std::size_t id : {5, 64, 129}) mask[id / 64] |= std::uint64_t{1} << (id % 64);
  ExpectOdds({.token_mask = mask}, SomeLogits(130, 3));
}

// More tokens than one block of the draw.
TEST(Odds, OfAWideRow) {
  std::vector<float> logits(1700, -60.0F);
  for (std::size_t i = 0; i < logits.size(); i += 100) logits[i] = static_cast<float>(i) / 1000;
  ExpectOdds({{.top_k = 17}}, logits);
  ExpectOdds({{.top_p = 0.999999F}}, logits);
  ExpectOdds({{.min_p = 0.05F}}, logits);
  ExpectOdds({.sampling = {.top_k = 15}, .forbidden = {0, 1600}}, logits);
}

TEST(Odds, OfEverythingTogether) {
  for (const float temperature : {0.7F, 1.6F}) {
    for (const int top_k : {0, 5, 11}) {
      for (const float top_p : {0.8F, 1.0F}) {
        for (const float min_p : {0.0F, 0.2F}) {
          Drawing drawing = kSpoken;
          drawing.sampling = {.temperature = temperature,
                              .top_k = top_k,
                              .top_p = top_p,
                              .min_p = min_p,
                              .repetition_penalty = 1.2F,
                              .presence_penalty = 0.25F,
                              .frequency_penalty = -0.25F};
          drawing.logit_bias = {{1, 1.0F}, {9, -0.5F}};
          drawing.forbidden = {4};
          drawing.token_mask = {0xFF7F};
          ExpectOdds(drawing);
        }
      }
    }
  }
}

// The statistic sees what it should see.
TEST(Odds, WrongOnesAreSeen) {
  const std::vector<float> logits = SomeLogits(kTokens, 2);
  Drawing drawing = kSpoken;
  drawing.sampling.seed = 11;
  drawing.sampling.presence_penalty = 0.5F;
  const std::map<TokenId, int> counts = Histogram(logits, drawing);
  Drawing warmer = drawing;
  warmer.sampling.temperature = 1.05F;
  Drawing milder = drawing;
  milder.sampling.presence_penalty = 0.2F;
  Drawing biased = drawing;
  biased.logit_bias = {{2, 0.5F}};
  for (const Drawing& wrong : {warmer, milder, biased}) {
    const ChiSquare chi = Compare(counts, ExactProbabilities(logits, wrong));
    EXPECT_GT(chi.statistic, Bound(chi.degrees));
  }
}

}  // namespace
}  // namespace banyan::model
