// Tokens drawn on the device beside the CPU's sampler, and log-probabilities beside its own.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/sampling.h"
#include "model/device_answers.h"
#include "model/log_probabilities.h"
#include "model/sampler.h"
#include "tests/cuda/device_array.h"
#include "tests/cuda/rig.h"

namespace banyan::kernels::cuda::testing {
namespace {

// What one row asks for, with the lists that a Sequence views.
struct Draw {
  SamplingParams sampling{};
  std::vector<TokenId> context{};
  std::int64_t prompt_tokens = 0;
  std::vector<TokenBias> biases{};
  std::vector<TokenId> forbidden{};
  std::vector<std::uint64_t> mask{};
  std::int64_t position = 0;  // of the drawn token

  // Views this.
  Sequence ToSequence() const {
    Sequence out;
    out.first_position = position;
    out.logits = Logits::kSampleLast;
    out.sampling = sampling;
    out.context = context;
    out.prompt_tokens = prompt_tokens;
    out.logit_bias = biases;
    out.forbidden = forbidden;
    out.token_mask = mask;
    return out;
  }
};

std::vector<std::int32_t> OnTheDevice(const Rows& logits, const std::vector<Draw>& asked) {
  const auto vocabulary = static_cast<std::int32_t>(logits[0].size());
  Batch batch;
  std::vector<model::LogitRow> rows;
  const TokenId none[] = {0};
  for (const Draw& a : asked) {
    rows.push_back({.sequence = batch.sequences.size()});
    batch.sequences.push_back(a.ToSequence());
    batch.sequences.back().tokens = none;
    batch.sequences.back().first_position -= 1;
  }
  model::DeviceAnswers answers(vocabulary);
  const SamplingWork work = answers.Ask(batch, rows);
  const DeviceArray<float> device_logits(Flat(logits));
  const DeviceArray<SampleRow> draws(work.draws);
  const DeviceArray<std::uint64_t> masks(work.masks);
  const DeviceArray<std::int32_t> forbidden(work.forbidden);
  const DeviceArray<TokenBias> biases(work.biases);
  const DeviceArray<TokenUse> uses(work.uses);
  DeviceArray<float> adjusted(device_logits.size());
  DeviceArray<std::int32_t> tokens(rows.size());
  cuda::Sample(nullptr, {device_logits.data(), vocabulary}, draws.data(),
               static_cast<std::int32_t>(rows.size()),
               {masks.data(), forbidden.data(), biases.data(), uses.data()}, adjusted.data(),
               tokens.data());
  return tokens.Read();
}

std::vector<std::int32_t> OnTheCpu(const Rows& logits, const std::vector<Draw>& asked) {
  model::Sampler sampler(static_cast<std::int32_t>(logits[0].size()));
  std::vector<std::int32_t> tokens;
  for (std::size_t i = 0; i < asked.size(); ++i)
    tokens.push_back(sampler.Sample(logits[i], asked[i].ToSequence()).value_or(kNoneAllowed));
  return tokens;
}

// Draws of every kind, of rows as flat or as steep as models make them, with ties.
void ExpectTheCpusTokens(int vocabulary, std::uint32_t seed, const SamplingParams& params) {
  constexpr int kRows = 16;
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::int32_t>(random() % n); };
  const auto token = [&] { return below(static_cast<std::uint32_t>(vocabulary)); };
  Rows logits;
  std::vector<Draw> asked;
  for (int row = 0; row < kRows; ++row) {
    logits.push_back(RandomRows(1, vocabulary, random(), row % 3 == 0 ? 6.0F : 1.5F)[0]);
    if (row % 4 == 1)
      for (float& x : logits.back()) x = std::round(x);
    Draw a{.sampling = params};
    a.sampling.seed = random();
    a.sampling.choice = static_cast<std::uint32_t>(below(3));
    a.position = below(100'000);
    if (params.penalizes())
      for (int i = 0; i < 40; ++i) a.context.push_back(token());
    a.prompt_tokens = std::min<std::int64_t>(17, std::ssize(a.context));
    asked.push_back(a);
  }
  EXPECT_EQ(OnTheDevice(logits, asked), OnTheCpu(logits, asked)) << "of " << vocabulary;
}

TEST(DeviceSampling, GivesTheCpusTokens) {
  for (const int vocabulary : {1, 33, 600, 2000}) {
    const std::vector<SamplingParams> all = {
        {.temperature = 0},
        {.temperature = 1},
        {.temperature = 0.3F},
        {.temperature = 1.7F, .top_k = 1},
        {.temperature = 1, .top_k = 7},
        {.temperature = 1, .top_k = 100'000},
        {.temperature = 1, .top_p = 0.9F},
        {.temperature = 2, .top_p = 0.99F},
        {.temperature = 1, .top_p = 0.01F},
        {.temperature = 1, .min_p = 0.05F},
        {.temperature = 0.8F, .top_k = 40, .top_p = 0.7F, .min_p = 0.02F},
        {.temperature = 0, .repetition_penalty = 1.5F},
        {.temperature = 1, .repetition_penalty = 1.2F, .presence_penalty = 0.5F},
        {.temperature = 0.9F, .top_p = 0.95F, .frequency_penalty = -0.7F}};
    for (std::size_t i = 0; i < all.size(); ++i)
      ExpectTheCpusTokens(vocabulary, static_cast<std::uint32_t>(100 * vocabulary + i), all[i]);
  }
}

std::int32_t GreedyToken(const Row& logits) {
  return OnTheDevice({logits}, {{.sampling = {.temperature = 0}}})[0];
}

TEST(DeviceSampling, GreedyIsTheFirstOfTheGreatest) {
  for (const int vocabulary : {1, 2, 31, 511, 512, 513, 5000}) {
    Row logits = RandomRows(1, vocabulary, 14)[0];
    EXPECT_EQ(GreedyToken(logits), std::ranges::max_element(logits) - logits.begin());
    logits[vocabulary / 2] = 1e9F;
    logits[vocabulary - 1] = 1e9F;
    EXPECT_EQ(GreedyToken(logits), vocabulary / 2);
  }
  EXPECT_EQ(GreedyToken(Row(700, -3.0F)), 0);
}

TEST(DeviceSampling, HeedsMasksForbiddenTokensAndBiases) {
  constexpr int kVocabulary = 130;
  const Rows logits = RandomRows(40, kVocabulary, 1);
  std::vector<Draw> asked;
  std::mt19937 random(2);
  for (int row = 0; row < 40; ++row) {
    Draw a{.sampling = {.temperature = row % 2 == 0 ? 0.0F : 1.0F, .seed = random()}};
    if (row % 3 != 0)
      a.mask = {random() | std::uint64_t{random()} << 32, random(), row % 5 == 0 ? 0U : 3U};
    const auto greatest = std::ranges::max_element(logits[row]) - logits[row].begin();
    if (row % 4 == 1) a.forbidden = {static_cast<TokenId>(greatest), 3, 129};
    if (row % 4 >= 2) {
      a.biases = {{5, 3.0F}, {64, 3e38F}, {3, 1.0F}};
      if (greatest != 5 && greatest != 64 && greatest != 3)
        a.biases.push_back({static_cast<TokenId>(greatest), -1e30F});
    }
    asked.push_back(a);
  }
  EXPECT_EQ(OnTheDevice(logits, asked), OnTheCpu(logits, asked));
}

TEST(DeviceSampling, TokensAreDrawnAsOftenAsTheyWeigh) {
  constexpr int kDraws = 1500;
  const Row row = {0.0F, std::log(3.0F), -1e30F, std::log(6.0F)};
  std::vector<Draw> asked(kDraws);
  for (int i = 0; i < kDraws; ++i) asked[i].position = i;
  std::vector<int> counts(4);
  for (const std::int32_t token : OnTheDevice(Rows(kDraws, row), asked)) ++counts[token];
  const double expected[] = {0.1, 0.3, 0.0, 0.6};
  for (int i = 0; i < 4; ++i)
    EXPECT_NEAR(counts[i], kDraws * expected[i], 4 * std::sqrt(kDraws / 4.0));
  EXPECT_EQ(counts[2], 0);
}

TEST(DeviceSampling, ARowWithoutAnswerSaysWhy) {
  Rows logits = RandomRows(4, 2000, 3);
  logits[1][1999] = std::numeric_limits<float>::quiet_NaN();
  logits[2][3] = -std::numeric_limits<float>::infinity();
  std::vector<Draw> asked(4);
  asked[2].sampling.temperature = 0;
  asked[3].mask.resize(32);
  const auto tokens = OnTheDevice(logits, asked);
  EXPECT_GE(tokens[0], 0);
  EXPECT_EQ(tokens[1], kNotFinite);
  EXPECT_EQ(tokens[2], kNotFinite);
  EXPECT_EQ(tokens[3], kNoneAllowed);
}

TEST(DeviceSampling, ATokenDoesNotDependOnOtherRows) {
  const Rows logits = RandomRows(6, 500, 4);
  std::vector<Draw> asked(6);
  for (int i = 0; i < 6; ++i) asked[i] = {.sampling = {.top_p = 0.8F, .seed = 9}, .position = i};
  const auto together = OnTheDevice(logits, asked);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(OnTheDevice({logits[i]}, {asked[i]})[0], together[i]);
}

// Given tokens and drawn ones, with and without alternatives, of rows in any order.
TEST(DeviceLogProbabilities, AreTheCpus) {
  for (const int vocabulary : {1, 20, 700}) {
    Rows logits = RandomRows(5, vocabulary, 5, 4.0F);
    for (float& x : logits[1]) x = std::round(x);  // ties
    for (float& x : logits[2]) x *= 1e30F;
    const std::vector<std::int32_t> drawn = {vocabulary / 2, vocabulary - 1};
    std::vector<ScoreRow> scores;
    for (int row = 4; row >= 0; --row) {
      const std::int32_t token = row < 2 ? ~row : row * 131 % vocabulary;
      scores.push_back({row, token, row == 3 ? 0 : std::min(vocabulary, ScoreRow::kMostTop - row)});
    }
    const DeviceArray<float> device_logits(Flat(logits));
    const DeviceArray<ScoreRow> device_scores(scores);
    const DeviceArray<std::int32_t> device_drawn(drawn);
    DeviceArray<float> of_tokens(5);
    DeviceArray<std::int32_t> top(5 * ScoreRow::kMostTop);
    DeviceArray<float> of_top(top.size());
    LogProbabilities(nullptr, {device_logits.data(), vocabulary}, device_scores.data(), 5,
                     device_drawn.data(), {of_tokens.data(), top.data(), of_top.data()});
    model::LogProbabilities cpu;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const auto& [row, asked, count] = scores[i];
      const std::int32_t token = asked >= 0 ? asked : drawn[~asked];
      cpu.Read(logits[row]);
      const auto near = [](float x) { return 1e-6F * std::max(1.0F, std::fabs(x)); };
      EXPECT_NEAR(of_tokens.Read()[i], cpu.Of(token), near(cpu.Of(token)));
      std::vector<TokenLogprob> expected;
      cpu.Top(count, expected);
      for (std::int32_t n = 0; n < count; ++n) {
        EXPECT_EQ(top.Read()[i * ScoreRow::kMostTop + n], expected[n].token);
        EXPECT_NEAR(of_top.Read()[i * ScoreRow::kMostTop + n], expected[n].log_probability,
                    near(expected[n].log_probability));
      }
    }
  }
}

TEST(DeviceLogProbabilities, ThereIsNoneWhereALogitIsNotFiniteOrNoTokenWasDrawn) {
  Rows logits = RandomRows(2, 600, 6);
  logits[1][599] = -std::numeric_limits<float>::infinity();
  const DeviceArray<float> device_logits(Flat(logits));
  const DeviceArray<ScoreRow> scores(std::vector<ScoreRow>{{0, 3}, {1, 3}, {0, ~0}});
  const DeviceArray<std::int32_t> drawn(std::vector<std::int32_t>{kNoneAllowed});
  DeviceArray<float> of_tokens(3);
  LogProbabilities(nullptr, {device_logits.data(), 600}, scores.data(), 3, drawn.data(),
                   {.log_probabilities = of_tokens.data()});
  EXPECT_LE(of_tokens.Read()[0], 0.0F);
  EXPECT_EQ(of_tokens.Read()[1], std::numeric_limits<float>::infinity());
  EXPECT_EQ(of_tokens.Read()[2], std::numeric_limits<float>::infinity());
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
