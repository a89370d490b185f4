// Draws: what is certain, what is likely, and what is refused.
#include "model/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace banyan::model {
namespace {

using ::testing::ElementsAre;

constexpr SamplingParams kGreedy{.temperature = 0};

Sampler::Draw DrawFrom(const std::vector<float>& logits, const SamplingParams& params,
                       std::int64_t position = 0, const std::vector<std::uint64_t>& mask = {}) {
  Sampler sampler(static_cast<std::int32_t>(logits.size()));
  const auto draw = sampler.Sample(logits, params, position, mask);
  EXPECT_TRUE(draw.ok()) << draw.status();
  return draw.ok() ? *draw : Sampler::Draw{};
}

absl::StatusCode ErrorOf(const std::vector<float>& logits, const SamplingParams& params,
                         const std::vector<std::uint64_t>& mask = {}) {
  Sampler sampler(static_cast<std::int32_t>(logits.size()));
  return sampler.Sample(logits, params, 0, mask).status().code();
}

// exp(logit / temperature), normalized, in double.
std::vector<double> Probabilities(const std::vector<float>& logits, double temperature = 1) {
  const double max = *std::max_element(logits.begin(), logits.end());
  std::vector<double> p;
  for (const float logit : logits) p.push_back(std::exp((logit - max) / temperature));
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& value : p) value /= sum;
  return p;
}

// A spread like that of a model's logits, without a library's generator: those differ.
std::vector<float> SomeLogits(std::size_t size, float scale) {
  std::vector<float> logits;
  for (std::size_t i = 0; i < size; ++i) {
    logits.push_back(scale * static_cast<float>(std::sin(static_cast<double>(i * i) + 0.5)));
  }
  return logits;
}

constexpr int kDraws = 40000;

std::map<TokenId, int> Histogram(const std::vector<float>& logits, SamplingParams params,
                                 const std::vector<std::uint64_t>& mask = {}) {
  Sampler sampler(static_cast<std::int32_t>(logits.size()));
  std::map<TokenId, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[sampler.Sample(logits, params, i, mask)->token];
  return counts;
}

// Pearson's statistic of the counts against `expected`, which must be exact: a token whose
// probability is 0 may never be drawn.
double ChiSquare(const std::map<TokenId, int>& counts, const std::vector<double>& expected) {
  double sum = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto it = counts.find(static_cast<TokenId>(i));
    const double count = it == counts.end() ? 0 : it->second;
    const double want = expected[i] * kDraws;
    if (want == 0) {
      EXPECT_EQ(count, 0) << i;
      continue;
    }
    EXPECT_GT(want, 5) << "too rare for the test: " << i;
    sum += (count - want) * (count - want) / want;
  }
  return sum;
}

// Of chi-square with 15 degrees of freedom 99.9% lies below.
constexpr double kChiSquare15 = 37.7;
constexpr std::size_t kTokens = 16;

TEST(Greedy, TakesTheLargestLogit) {
  EXPECT_EQ(DrawFrom({1, 3, 2}, kGreedy).token, 1);
  EXPECT_EQ(DrawFrom({-1, -3, -0.5}, kGreedy).token, 2);
}

TEST(Greedy, TheLowestIdWinsATie) {
  EXPECT_EQ(DrawFrom({0, 5, 1, 5, 5}, kGreedy).token, 1);
  std::vector<float> logits(1000, 2.0F);
  EXPECT_EQ(DrawFrom(logits, kGreedy).token, 0);
}

TEST(Greedy, FindsTheLargestAtEveryPlace) {
  for (const std::size_t size : {1, 7, 8, 9, 17, 100}) {
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<float> logits(size, -1.0F);
      logits[at] = 1;
      EXPECT_EQ(DrawFrom(logits, kGreedy).token, static_cast<TokenId>(at));
    }
  }
}

TEST(LogProbability, IsThatOfTheUnfilteredLogits) {
  const std::vector<float> logits = SomeLogits(1003, 9);
  const std::vector<double> p = Probabilities(logits);
  std::vector<std::uint64_t> mask((logits.size() + 63) / 64);
  mask[3] = 0xF0;
  for (const SamplingParams& params :
       {kGreedy, SamplingParams{.temperature = 0.3F}, SamplingParams{.top_p = 0.2F}}) {
    for (int position = 0; position < 20; ++position) {
      for (const auto& m : {std::vector<std::uint64_t>{}, mask}) {
        const Sampler::Draw draw = DrawFrom(logits, params, position, m);
        const double want = std::log(p[static_cast<std::size_t>(draw.token)]);
        EXPECT_NEAR(draw.log_probability, want, 2e-6 * std::max(1.0, -want));
      }
    }
  }
}

TEST(LogProbability, OfOneTokenAlone) { EXPECT_EQ(DrawFrom({42}, kGreedy).log_probability, 0); }

TEST(Temperature, ChiSquare) {
  const std::vector<float> logits = SomeLogits(kTokens, 2);
  for (const float temperature : {0.7F, 1.0F, 2.0F}) {
    const auto counts = Histogram(logits, {.temperature = temperature, .seed = 11});
    EXPECT_LT(ChiSquare(counts, Probabilities(logits, temperature)), kChiSquare15) << temperature;
  }
}

TEST(Temperature, ChiSquareSeesAWrongTemperature) {
  const std::vector<float> logits = SomeLogits(kTokens, 2);
  const auto counts = Histogram(logits, {.temperature = 1.0F, .seed = 11});
  EXPECT_GT(ChiSquare(counts, Probabilities(logits, 1.05)), kChiSquare15);
}

TEST(Temperature, TinyAndHugeValuesAreHarmless) {
  const std::vector<float> logits = {1, 3, 2.9F};
  for (const float tiny : {1e-3F, 1e-30F, std::numeric_limits<float>::denorm_min()}) {
    EXPECT_EQ(DrawFrom(logits, {.temperature = tiny}).token, 1);
  }
  const auto counts = Histogram(logits, {.temperature = 1e30F});
  for (const auto& [token, count] : counts) EXPECT_NEAR(count, kDraws / 3, 500) << token;
}

TEST(TopP, ChiSquare) {
  const std::vector<float> logits = SomeLogits(kTokens, 2);
  const std::vector<double> p = Probabilities(logits);
  std::vector<std::size_t> order(kTokens);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](auto a, auto b) { return p[a] > p[b]; });
  // Tops that end within the share of the n-th token keep exactly n.
  double sum = 0;
  for (std::size_t n = 1; n <= kTokens; ++n) {
    const double before = sum;
    sum += p[order[n - 1]];
    std::vector<double> expected(kTokens);
    for (std::size_t i = 0; i < n; ++i) expected[order[i]] = p[order[i]] / sum;
    const auto top_p = static_cast<float>((before + sum) / 2);
    const auto counts = Histogram(logits, {.top_p = top_p, .seed = 5});
    EXPECT_EQ(counts.size(), n);
    EXPECT_LT(ChiSquare(counts, expected), kChiSquare15) << n;
  }
}

TEST(TopP, TheBoundItselfIsEnough) {
  // Four equal tokens: each has exactly a quarter.
  const std::vector<float> logits = {0, 0, 0, 0};
  const auto kept = [&](float top_p) {
    std::vector<TokenId> tokens;
    for (const auto& [token, count] : Histogram(logits, {.top_p = top_p})) tokens.push_back(token);
    return tokens;
  };
  EXPECT_THAT(kept(std::nextafter(0.5F, 0.0F)), ElementsAre(0, 1));
  EXPECT_THAT(kept(0.5F), ElementsAre(0, 1));
  EXPECT_THAT(kept(std::nextafter(0.5F, 1.0F)), ElementsAre(0, 1, 2));
  EXPECT_THAT(kept(std::numeric_limits<float>::min()), ElementsAre(0));
  EXPECT_THAT(kept(1.0F), ElementsAre(0, 1, 2, 3));
}

TEST(TopP, OfManyTokensKeepsTheMostProbable) {
  // Flat enough that the nucleus is thousands of tokens: the portions must join without a seam.
  const std::vector<float> logits = SomeLogits(20000, 1);
  std::vector<float> sorted = logits;
  std::sort(sorted.rbegin(), sorted.rend());
  for (const double top_p : {0.01, 0.5, 0.9, 0.999}) {
    std::vector<double> p = Probabilities(sorted);
    double sum = 0;
    std::size_t n = 0;
    while (sum < top_p) sum += p[n++];
    const float least = sorted[n - 1] - 1e-4F;
    Sampler sampler(static_cast<std::int32_t>(logits.size()));
    std::set<TokenId> seen;
    for (int i = 0; i < 60; ++i) {
      const auto draw =
          sampler.Sample(logits, {.top_p = static_cast<float>(top_p), .seed = 3}, i, {});
      EXPECT_GE(logits[static_cast<std::size_t>(draw->token)], least) << top_p;
      seen.insert(draw->token);
    }
    EXPECT_GT(seen.size(), 20) << top_p;
  }
}

TEST(Mask, OnlyAllowedTokensAreDrawn) {
  const std::vector<float> logits = SomeLogits(130, 3);
  std::vector<std::uint64_t> mask(3);
  for (const std::size_t id : {5, 64, 129}) mask[id / 64] |= std::uint64_t{1} << (id % 64);
  std::vector<double> expected(logits.size());
  double sum = 0;
  for (const std::size_t id : {5, 64, 129}) sum += Probabilities(logits)[id];
  for (const std::size_t id : {5, 64, 129}) expected[id] = Probabilities(logits)[id] / sum;
  const auto counts = Histogram(logits, {.seed = 1}, mask);
  EXPECT_LT(ChiSquare(counts, expected), 13.8);  // 2 degrees of freedom, 99.9%
  const TokenId best = DrawFrom(logits, kGreedy, 0, mask).token;
  EXPECT_EQ(expected[static_cast<std::size_t>(best)],
            *std::max_element(expected.begin(), expected.end()));
}

TEST(Mask, AllowsWhatTheModelThinksImpossible) {
  std::vector<float> logits(64, 0.0F);
  logits[7] = -500;
  EXPECT_EQ(DrawFrom(logits, {.top_p = 0.5F}, 0, {std::uint64_t{1} << 7}).token, 7);
}

TEST(Mask, ThatAllowsNothingIsAnError) {
  EXPECT_EQ(ErrorOf({1, 2}, kGreedy, {0}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(ErrorOf({1, 2}, {}, {4}), absl::StatusCode::kInvalidArgument);
}

TEST(BadLogits, AreAnError) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
        -std::numeric_limits<float>::infinity()}) {
    for (const std::size_t at : {0, 8, 19}) {
      std::vector<float> logits(20, 1.0F);
      logits[at] = bad;
      for (const SamplingParams& params :
           {kGreedy, SamplingParams{}, SamplingParams{.top_p = .5F}}) {
        EXPECT_EQ(ErrorOf(logits, params), absl::StatusCode::kInternal) << bad << " at " << at;
      }
    }
  }
}

TEST(Draw, IsAFunctionOfItsArgumentsAlone) {
  const std::vector<float> logits = SomeLogits(500, 2);
  Sampler used(500);
  for (int i = 0; i < 50; ++i) (void)used.Sample(SomeLogits(500, 5), {.top_p = 0.5F}, i, {});
  for (int position = 0; position < 50; ++position) {
    const SamplingParams params{.temperature = 0.8F, .top_p = 0.9F, .seed = 42, .choice = 3};
    EXPECT_EQ(used.Sample(logits, params, position, {})->token,
              DrawFrom(logits, params, position).token);
  }
}

TEST(Draw, SeedChoiceAndPositionEachMatter) {
  const std::vector<float> flat(1 << 16, 0.0F);
  std::set<TokenId> tokens;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
    for (const std::uint32_t choice : {0U, 1U}) {
      for (const std::int64_t position :
           {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 32}) {
        tokens.insert(DrawFrom(flat, {.seed = seed, .choice = choice}, position).token);
      }
    }
  }
  EXPECT_EQ(tokens.size(), 18);
}

}  // namespace
}  // namespace banyan::model
