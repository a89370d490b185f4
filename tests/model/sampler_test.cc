// Draws: what is certain, what is kept, and what is refused. How likely the rest is, is in
// sampling_odds_test.cc.
#include "model/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "tests/model/sampling_oracle.h"

namespace banyan::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr SamplingParams kGreedy{.temperature = 0};
constexpr float kTiniest = std::numeric_limits<float>::denorm_min();
constexpr float kHuge = std::numeric_limits<float>::max();

TokenId DrawFrom(const std::vector<float>& logits, Drawing drawing, std::int64_t position = 1) {
  Sampler sampler(static_cast<std::int32_t>(logits.size()));
  const auto draw = sampler.Sample(logits, drawing.At(position));
  EXPECT_TRUE(draw.ok()) << draw.status();
  return draw.value_or(-1);
}

// The tokens that come in many draws: all that can, where they are few and likely.
std::set<TokenId> DrawnFrom(const std::vector<float>& logits, Drawing drawing, int draws = 2000) {
  Sampler sampler(static_cast<std::int32_t>(logits.size()));
  std::set<TokenId> tokens;
  for (int i = 1; i <= draws; ++i) tokens.insert(sampler.Sample(logits, drawing.At(i)).value());
  return tokens;
}

std::vector<std::uint64_t> MaskOf(std::size_t size, const std::vector<std::size_t>& tokens) {
  std::vector<std::uint64_t> mask((size + 63) / 64);
  for (const std::size_t id : tokens) mask[id / 64] |= std::uint64_t{1} << (id % 64);
  return mask;
}

TEST(Greedy, TakesTheLargestLogit) {
  EXPECT_EQ(DrawFrom({1, 3, 2}, {kGreedy}), 1);
  EXPECT_EQ(DrawFrom({-1, -3, -0.5}, {kGreedy}), 2);
}

TEST(Greedy, TheLowestIdWinsATie) {
  EXPECT_EQ(DrawFrom({0, 5, 1, 5, 5}, {kGreedy}), 1);
  EXPECT_EQ(DrawFrom(std::vector<float>(1000, 2.0F), {kGreedy}), 0);
}

TEST(Greedy, FindsTheLargestAtEveryPlace) {
  for (const std::size_t size : {1, 7, 8, 9, 17, 100}) {
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<float> logits(size, -1.0F);
      logits[at] = 1;
      EXPECT_EQ(DrawFrom(logits, {kGreedy}), static_cast<TokenId>(at));
    }
  }
}

TEST(Greedy, IsOfTheAdjustedLogits) {
  EXPECT_EQ(DrawFrom({1, 3, 2}, {.sampling = kGreedy, .logit_bias = {{2, 1.5F}}}), 2);
  EXPECT_EQ(DrawFrom({1, 3, 2}, {.sampling = kGreedy, .forbidden = {1}}), 2);
  Drawing penalized{.sampling = kGreedy, .prompt = {1}};
  penalized.sampling.repetition_penalty = 2;
  EXPECT_EQ(DrawFrom({1, 3, 2}, penalized), 2);
}

TEST(Greedy, IsTopKOfOneAtAnyTemperature) {
  std::vector<float> logits = SomeLogits(300, 1);
  logits[200] = 30.0F;
  logits[100] = std::nextafter(30.0F, 0.0F);  // as probable, when only probabilities are compared
  for (const float temperature : {0.1F, 1.0F, 2.0F}) {
    EXPECT_THAT(DrawnFrom(logits, {{.temperature = temperature, .top_k = 1}}), ElementsAre(200));
  }
}

TEST(Temperature, TinyAndHugeValuesAreHarmless) {
  const std::vector<float> logits = {1, 3, 2.9F};
  for (const float tiny : {1e-3F, 1e-30F, kTiniest}) {
    EXPECT_EQ(DrawFrom(logits, {{.temperature = tiny}}), 1);
  }
  EXPECT_THAT(DrawnFrom(logits, {{.temperature = 1e30F}}), ElementsAre(0, 1, 2));
}

TEST(TopP, TheBoundItselfIsEnough) {
  const std::vector<float> logits = {0, 0, 0, 0};  // each has exactly a quarter
  const auto kept = [&](float top_p) { return DrawnFrom(logits, {{.top_p = top_p}}); };
  EXPECT_THAT(kept(std::nextafter(0.5F, 0.0F)), ElementsAre(0, 1));
  EXPECT_THAT(kept(0.5F), ElementsAre(0, 1));
  EXPECT_THAT(kept(std::nextafter(0.5F, 1.0F)), ElementsAre(0, 1, 2));
  EXPECT_THAT(kept(kTiniest), ElementsAre(0));
  EXPECT_THAT(kept(1.0F), ElementsAre(0, 1, 2, 3));
}

TEST(TopK, AroundTheVocabulary) {
  const std::vector<float> logits = {0, 0.1F, 0.2F, 0.3F};
  const auto kept = [&](std::int32_t top_k) { return DrawnFrom(logits, {{.top_k = top_k}}); };
  EXPECT_THAT(kept(0), ElementsAre(0, 1, 2, 3)) << "no bound";
  EXPECT_THAT(kept(1), ElementsAre(3));
  EXPECT_THAT(kept(2), ElementsAre(2, 3));
  EXPECT_THAT(kept(3), ElementsAre(1, 2, 3));
  EXPECT_THAT(kept(4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(kept(5), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(kept(std::numeric_limits<std::int32_t>::max()), ElementsAre(0, 1, 2, 3));
}

TEST(TopK, OfEqualsKeepsTheLowestIds) {
  const std::vector<float> logits = {0, 1, 0, 1, 0, 1};
  EXPECT_THAT(DrawnFrom(logits, {{.top_k = 2}}), ElementsAre(1, 3));
  EXPECT_THAT(DrawnFrom(logits, {{.top_k = 3}}), ElementsAre(1, 3, 5));
  EXPECT_THAT(DrawnFrom(logits, {{.top_k = 5}}), ElementsAre(0, 1, 2, 3, 5));
}

TEST(MinP, TheBoundItselfIsEnough) {
  const float half = std::log(0.5F);
  const std::vector<float> logits = {half, 0, half, -50};
  const auto kept = [&](float min_p) { return DrawnFrom(logits, {{.min_p = min_p}}); };
  EXPECT_THAT(kept(0.4999F), ElementsAre(0, 1, 2));
  EXPECT_THAT(kept(0.5001F), ElementsAre(1));
  EXPECT_THAT(kept(1.0F), ElementsAre(1));
  EXPECT_THAT(DrawnFrom({3, 3, 2.999F}, {{.min_p = 1.0F}}), ElementsAre(0, 1)) << "of equals, all";
}

TEST(MinP, IsRelativeToTheMostProbableAfterTemperature) {
  const std::vector<float> logits = {0, -1};  // 0.37 at temperature 1, 0.61 at 2
  EXPECT_THAT(DrawnFrom(logits, {{.temperature = 1, .min_p = 0.5F}}), ElementsAre(0));
  EXPECT_THAT(DrawnFrom(logits, {{.temperature = 2, .min_p = 0.5F}}), ElementsAre(0, 1));
}

// Of 0.4, 0.3, 0.2, 0.1 top-k 2 leaves 0.57 and 0.43, of which the first one is enough for 0.5.
TEST(TopP, IsOfWhatTopKLeft) {
  std::vector<float> logits;
  for (const float p : {0.4F, 0.3F, 0.2F, 0.1F}) logits.push_back(std::log(p));
  EXPECT_THAT(DrawnFrom(logits, {{.top_p = 0.5F}}), ElementsAre(0, 1));
  EXPECT_THAT(DrawnFrom(logits, {{.top_k = 2, .top_p = 0.5F}}), ElementsAre(0));
  EXPECT_THAT(DrawnFrom(logits, {{.top_p = 0.5F, .min_p = 0.6F}}), ElementsAre(0));
}

// Flat enough that thousands of tokens are kept: the parts of a selection must join without a seam.
TEST(Filters, OfManyTokensKeepTheFirstOnes) {
  std::vector<float> logits = SomeLogits(20000, 1);
  for (std::size_t i = 0; i < logits.size(); i += 3) logits[i] = std::round(logits[i] * 8) / 8;
  std::vector<Drawing> drawings;
  for (const float top_p : {0.01F, 0.5F, 0.9F, 0.999F}) drawings.push_back({{.top_p = top_p}});
  for (const int k : {1, 2, 63, 64, 65, 5000, 19999}) drawings.push_back({{.top_k = k}});
  drawings.push_back({{.temperature = 0.2F, .top_k = 3000, .top_p = 0.9F, .min_p = 0.01F}});
  for (const Drawing& drawing : drawings) {
    const std::vector<double> p = ExactProbabilities(logits, drawing);
    const auto kept = static_cast<std::size_t>(
        std::count_if(p.begin(), p.end(), [](double one) { return one > 0; }));
    std::size_t outside = 0;
    const std::set<TokenId> drawn = DrawnFrom(logits, drawing, 100);
    for (const TokenId token : drawn) outside += p[static_cast<std::size_t>(token)] == 0 ? 1 : 0;
    EXPECT_EQ(outside, 0) << "of " << kept;
    EXPECT_GE(drawn.size(), std::min<std::size_t>(kept, 20));
  }
}

TEST(Mask, AllowsWhatTheModelThinksImpossible) {
  std::vector<float> logits(64, 0.0F);
  logits[7] = -500;
  EXPECT_EQ(DrawFrom(logits, {.sampling = {.top_p = 0.5F}, .token_mask = MaskOf(64, {7})}), 7);
}

TEST(Forbidden, IsNeverDrawn) {
  const std::vector<float> logits = {9, 0, 0, 9};
  EXPECT_THAT(DrawnFrom(logits, {.forbidden = {0, 3}}), ElementsAre(1, 2));
  EXPECT_THAT(DrawnFrom(logits, {.forbidden = {0, 1, 2}}), ElementsAre(3));
  EXPECT_THAT(DrawnFrom(logits, {.logit_bias = {{0, 100.0F}}, .forbidden = {0, 1, 2}}),
              ElementsAre(3))
      << "no bias brings it back";
}

TEST(Forbidden, TokensThatDoNotExistDoNotMatter) {
  EXPECT_EQ(DrawFrom({1, 2}, {.sampling = kGreedy, .forbidden = {2, 1000, -1}}), 1);
}

TEST(Forbidden, EverythingIsAnError) {
  const auto code = [](Drawing drawing) {
    return Sampler(2).Sample(std::vector<float>{1, 2}, drawing.At(1)).status().code();
  };
  const auto kNone = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(code({.sampling = kGreedy, .token_mask = {0}}), kNone);
  EXPECT_EQ(code({.token_mask = {4}}), kNone);
  EXPECT_EQ(code({.forbidden = {0, 1}}), kNone);
  EXPECT_EQ(code({.forbidden = {1}, .token_mask = {2}}), kNone);
  EXPECT_EQ(code({.forbidden = {1}, .token_mask = {3}}), absl::StatusCode::kOk);
}

// Values at the edge of what a float can be leave the draw a draw.
TEST(HostileValues, NeverMakeInfinities) {
  for (const float penalty : {kTiniest, kHuge}) {
    for (const float temperature : {0.0F, kTiniest, 1.0F, kHuge}) {
      for (const float logit : {kHuge, 1.0F, 0.0F, -1.0F, -kHuge}) {
        Drawing drawing{.prompt = {0, 1}, .answer = {1}, .logit_bias = {{2, kHuge}}};
        drawing.sampling = {.temperature = temperature,
                            .top_k = 2,
                            .top_p = 0.9F,
                            .min_p = 0.1F,
                            .repetition_penalty = penalty,
                            .presence_penalty = kHuge,
                            .frequency_penalty = -kHuge};
        const TokenId token = DrawFrom({logit, -logit, logit, 0}, drawing);
        EXPECT_TRUE(0 <= token && token < 4);
      }
    }
  }
}

TEST(Draw, IsAFunctionOfItsArgumentsAlone) {
  const std::vector<float> logits = SomeLogits(500, 2);
  Drawing drawing{.prompt = {1, 2, 3}, .answer = {4, 4, 5}, .logit_bias = {{7, 2}}};
  drawing.sampling = {.temperature = 0.8F,
                      .top_k = 100,
                      .top_p = 0.9F,
                      .min_p = 0.01F,
                      .repetition_penalty = 1.3F,
                      .presence_penalty = 0.5F,
                      .frequency_penalty = 0.5F,
                      .seed = 42,
                      .choice = 3};
  Drawing other{.prompt = {499, 4}, .answer = {5, 7, 0}, .forbidden = {3}};
  other.sampling = {.top_p = 0.5F, .repetition_penalty = 5};
  Sampler used(500);
  for (int position = 1; position < 50; ++position) {
    ASSERT_TRUE(used.Sample(SomeLogits(500, 5), other.At(position)).ok());
    EXPECT_EQ(used.Sample(logits, drawing.At(position)).value(),
              DrawFrom(logits, drawing, position));
  }
}

TEST(Draw, SeedChoiceAndPositionEachMatter) {
  const std::vector<float> flat(1 << 16, 0.0F);
  std::set<TokenId> tokens;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
    for (const std::uint32_t choice : {0U, 1U}) {
      for (const std::int64_t position :
           {std::int64_t{1}, std::int64_t{2}, std::int64_t{1} << 32}) {
        tokens.insert(DrawFrom(flat, {{.seed = seed, .choice = choice}}, position));
      }
    }
  }
  EXPECT_EQ(tokens.size(), 18);
}

using SamplerDeathTest = ::testing::Test;

TEST(SamplerDeathTest, ParametersOutOfRange) {
  const auto draw = [](const SamplingParams& params) { DrawFrom({1, 2}, {params}); };
  EXPECT_DEATH(draw({.temperature = -0.1F}), "CHECK failed");
  EXPECT_DEATH(draw({.top_k = -1}), "CHECK failed");
  EXPECT_DEATH(draw({.top_p = 0}), "CHECK failed");
  EXPECT_DEATH(draw({.top_p = std::nextafter(1.0F, 2.0F)}), "CHECK failed");
  EXPECT_DEATH(draw({.min_p = -0.1F}), "CHECK failed");
  EXPECT_DEATH(draw({.min_p = std::nextafter(1.0F, 2.0F)}), "CHECK failed");
  EXPECT_DEATH(draw({.repetition_penalty = 0}), "CHECK failed");
}

}  // namespace
}  // namespace banyan::model
