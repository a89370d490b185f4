// Tokens drawn on the device beside the CPU's sampler, and log-probabilities beside its own.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/sampling.h"
#include "model/log_probabilities.h"
#include "model/philox.h"
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
  std::vector<banyan::TokenBias> biases{};
  std::vector<TokenId> forbidden{};
  std::vector<std::uint64_t> mask{};
  std::int64_t position = 0;  // of the drawn token

  Sequence ToSequence() const {
    Sequence out;
    out.first_position = position;
    out.sampling = sampling;
    out.context = context;
    out.prompt_tokens = prompt_tokens;
    out.logit_bias = biases;
    out.forbidden = forbidden;
    out.token_mask = mask;
    return out;
  }
  double Uniform() const {
    const auto at = static_cast<std::uint64_t>(position);
    return model::UniformFrom(model::Philox(
        {static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at >> 32), sampling.choice, 0},
        {static_cast<std::uint32_t>(sampling.seed),
         static_cast<std::uint32_t>(sampling.seed >> 32)}));
  }
};

// The lists of all rows, one after another.
class Lists {
 public:
  SampleRow Add(const Draw& asked) {
    const SamplingParams& params = asked.sampling;
    SampleRow row{.uniform = asked.Uniform(),
                  .temperature = params.temperature,
                  .top_k = params.top_k,
                  .top_p = params.top_p,
                  .min_p = params.min_p,
                  .repetition = params.repetition_penalty,
                  .presence = params.presence_penalty,
                  .frequency = params.frequency_penalty};
    if (!asked.mask.empty()) {
      row.mask = static_cast<std::int32_t>(masks_.size() / asked.mask.size());
      masks_.insert(masks_.end(), asked.mask.begin(), asked.mask.end());
    }
    row.forbidden = Append(forbidden_, asked.forbidden);
    std::vector<TokenBias> biases;
    for (const banyan::TokenBias& bias : asked.biases) biases.push_back({bias.token, bias.bias});
    row.biases = Append(biases_, biases);
    std::map<TokenId, std::int32_t> counted;
    for (std::size_t i = 0; i < asked.context.size(); ++i)
      counted[asked.context[i]] += static_cast<std::int64_t>(i) < asked.prompt_tokens ? 0 : 1;
    std::vector<TokenUse> uses;
    for (const auto& [token, in_answer] : counted) uses.push_back({token, in_answer});
    row.uses = Append(uses_, uses);
    return row;
  }

  std::vector<std::int32_t> Sample(const Rows& logits, const std::vector<SampleRow>& rows) const {
    const auto vocabulary = static_cast<std::int32_t>(logits[0].size());
    const DeviceArray<float> device_logits(Flat(logits));
    const DeviceArray<SampleRow> device_rows(rows);
    const DeviceArray<std::uint64_t> masks(masks_);
    const DeviceArray<std::int32_t> forbidden(forbidden_);
    const DeviceArray<TokenBias> biases(biases_);
    const DeviceArray<TokenUse> uses(uses_);
    DeviceArray<float> adjusted(device_logits.size());
    DeviceArray<std::int32_t> tokens(rows.size());
    cuda::Sample(nullptr, device_logits.data(), vocabulary, device_rows.data(),
                 static_cast<std::int32_t>(rows.size()),
                 {masks.data(), forbidden.data(), biases.data(), uses.data()}, adjusted.data(),
                 tokens.data());
    return tokens.Read();
  }

 private:
  template <class T, class From>
  static ListPart Append(std::vector<T>& to, const From& from) {
    const ListPart part{static_cast<std::int32_t>(to.size()),
                        static_cast<std::int32_t>(from.size())};
    to.insert(to.end(), from.begin(), from.end());
    return part;
  }

  std::vector<std::uint64_t> masks_;
  std::vector<std::int32_t> forbidden_;
  std::vector<TokenBias> biases_;
  std::vector<TokenUse> uses_;
};

std::vector<std::int32_t> OnTheDevice(const Rows& logits, const std::vector<Draw>& asked) {
  Lists lists;
  std::vector<SampleRow> rows;
  for (const Draw& a : asked) rows.push_back(lists.Add(a));
  return lists.Sample(logits, rows);
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
  Rows logits = RandomRows(4, 70, 3);
  logits[1][69] = std::numeric_limits<float>::quiet_NaN();
  logits[2][3] = -std::numeric_limits<float>::infinity();
  std::vector<Draw> asked(4);
  asked[2].sampling.temperature = 0;
  asked[3].mask = {0, 0};
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

TEST(DeviceLogProbabilities, AreTheCpus) {
  for (const int vocabulary : {1, 20, 700}) {
    Rows logits = RandomRows(5, vocabulary, 5, 4.0F);
    for (float& x : logits[1]) x = std::round(x);  // ties
    for (float& x : logits[2]) x *= 1e30F;
    const std::int32_t each = std::min(vocabulary, RankedTokens::kMost);
    std::vector<std::int32_t> tokens;
    for (int row = 0; row < 5; ++row) tokens.push_back(row * 131 % vocabulary);
    const DeviceArray<float> device_logits(Flat(logits));
    const DeviceArray<std::int32_t> device_tokens(tokens);
    DeviceArray<float> of_tokens(5);
    DeviceArray<std::int32_t> top(5 * static_cast<std::size_t>(each));
    DeviceArray<float> of_top(top.size());
    LogProbabilities(nullptr, device_logits.data(), vocabulary, device_tokens.data(), 5,
                     of_tokens.data(), {each, top.data(), of_top.data()});
    model::LogProbabilities cpu;
    for (int row = 0; row < 5; ++row) {
      cpu.Read(logits[row]);
      const auto near = [](float x) { return 1e-6F * std::max(1.0F, std::fabs(x)); };
      EXPECT_NEAR(of_tokens.Read()[row], cpu.Of(tokens[row]), near(cpu.Of(tokens[row])));
      std::vector<TokenLogprob> expected;
      cpu.Top(each, expected);
      for (std::int32_t i = 0; i < each; ++i) {
        EXPECT_EQ(top.Read()[row * each + i], expected[i].token);
        EXPECT_NEAR(of_top.Read()[row * each + i], expected[i].log_probability,
                    near(expected[i].log_probability));
      }
    }
  }
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
