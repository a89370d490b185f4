#include "tests/model/sampling_oracle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace banyan::model {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

std::vector<double> Adjusted(std::span<const float> logits, const Drawing& drawing) {
  const SamplingParams& params = drawing.sampling;
  std::vector<double> adjusted(logits.begin(), logits.end());
  for (std::size_t i = 0; i < adjusted.size() && !drawing.token_mask.empty(); ++i) {
    if ((drawing.token_mask[i / 64] >> (i % 64) & 1) == 0) adjusted[i] = kNever;
  }
  for (const TokenId token : drawing.forbidden) adjusted[static_cast<std::size_t>(token)] = kNever;
  for (const TokenBias& bias : drawing.logit_bias) {
    adjusted[static_cast<std::size_t>(bias.token)] += bias.bias;
  }
  if (!params.penalizes()) return adjusted;
  for (std::size_t i = 0; i < adjusted.size(); ++i) {
    const auto token = static_cast<TokenId>(i);
    const auto in_prompt = std::count(drawing.prompt.begin(), drawing.prompt.end(), token);
    const auto in_answer = std::count(drawing.answer.begin(), drawing.answer.end(), token);
    if (in_prompt + in_answer > 0) {
      if (adjusted[i] > 0) {
        adjusted[i] /= params.repetition_penalty;
      } else {
        adjusted[i] *= params.repetition_penalty;
      }
    }
    adjusted[i] -= params.frequency_penalty * static_cast<double>(in_answer);
    adjusted[i] -= in_answer > 0 ? params.presence_penalty : 0;
  }
  return adjusted;
}

}  // namespace

Sequence Drawing::At(std::int64_t position) {
  static constexpr TokenId kToken[] = {0};
  context = prompt;
  context.insert(context.end(), answer.begin(), answer.end());
  return {.tokens = kToken,
          .first_position = position - 1,
          .logits = Logits::kSampleLast,
          .sampling = sampling,
          .context = context,
          .prompt_tokens = static_cast<std::int64_t>(prompt.size()),
          .logit_bias = logit_bias,
          .forbidden = forbidden,
          .token_mask = token_mask};
}

std::vector<double> ExactProbabilities(std::span<const float> logits, const Drawing& drawing) {
  const SamplingParams& params = drawing.sampling;
  const std::vector<double> adjusted = Adjusted(logits, drawing);
  std::vector<std::size_t> order(adjusted.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return adjusted[a] > adjusted[b]; });
  const double max = adjusted[order[0]];
  const double temperature = params.temperature;
  const auto weight = [&](std::size_t i) {
    if (temperature == 0) return i == order[0] ? 1.0 : 0.0;
    return std::exp((adjusted[i] - max) / temperature);
  };
  std::erase_if(order, [&](std::size_t i) { return weight(i) == 0 || weight(i) < params.min_p; });
  if (params.top_k > 0 && order.size() > static_cast<std::size_t>(params.top_k)) {
    order.resize(static_cast<std::size_t>(params.top_k));
  }
  double total = 0;
  for (const std::size_t i : order) total += weight(i);
  double sum = 0;
  std::size_t kept = 0;
  while (kept < order.size() && sum < params.top_p * total) sum += weight(order[kept++]);
  order.resize(kept);
  std::vector<double> probabilities(adjusted.size());
  for (const std::size_t i : order) probabilities[i] = weight(i) / sum;
  return probabilities;
}

std::vector<float> SomeLogits(std::size_t size, float scale) {
  std::vector<float> logits;
  for (std::size_t i = 0; i < size; ++i) {
    logits.push_back(scale * static_cast<float>(std::sin(static_cast<double>(i * i) + 0.5)));
  }
  return logits;
}

ChiSquare Compare(const std::map<TokenId, int>& counts, const std::vector<double>& expected) {
  ChiSquare result;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto it = counts.find(static_cast<TokenId>(i));
    const double count = it == counts.end() ? 0 : it->second;
    const double want = expected[i] * kDraws;
    if (want == 0) {
      EXPECT_EQ(count, 0) << i;
      continue;
    }
    EXPECT_GT(want, 5) << "too rare for the test: " << i;
    result.statistic += (count - want) * (count - want) / want;
    ++result.degrees;
  }
  return result;
}

double Bound(int degrees) {
  if (degrees == 0) return 1e-9;
  const double n = 2.0 / (9.0 * degrees);
  return degrees * std::pow(1 - n + 3.09 * std::sqrt(n), 3);
}

}  // namespace banyan::model
