#include "model/logit_adjuster.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/check.h"

namespace banyan::model {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

// A finite logit stays one: hostile factors must not make infinities, whose differences are NaN.
float Finite(float logit) { return std::clamp(logit, -kLargest, kLargest); }

}  // namespace

LogitAdjuster::LogitAdjuster(std::int32_t vocabulary_size)
    : adjusted_(static_cast<std::size_t>(vocabulary_size)), token_uses_(vocabulary_size) {}

void LogitAdjuster::Check(const Sequence& sequence, std::int32_t vocabulary_size) {
  const auto size = static_cast<std::size_t>(vocabulary_size);
  CHECK(sequence.token_mask.empty() || sequence.token_mask.size() == (size + 63) / 64);
  for (const TokenBias& bias : sequence.logit_bias)
    CHECK(static_cast<std::size_t>(bias.token) < size && std::isfinite(bias.bias));
  const SamplingParams& params = sequence.sampling;
  CHECK(params.repetition_penalty > 0 && std::isfinite(params.repetition_penalty));
  CHECK(std::isfinite(params.presence_penalty) && std::isfinite(params.frequency_penalty));
}

std::span<const float> LogitAdjuster::Adjust(std::span<const float> logits,
                                             const Sequence& sequence) {
  CHECK(logits.size() == adjusted_.size());
  const bool penalizes = sequence.sampling.penalizes();
  if (sequence.token_mask.empty() && sequence.forbidden.empty() && sequence.logit_bias.empty() &&
      !penalizes) {
    return logits;
  }
  Check(sequence, static_cast<std::int32_t>(adjusted_.size()));
  std::copy(logits.begin(), logits.end(), adjusted_.begin());
  if (!sequence.token_mask.empty()) Mask(sequence.token_mask);
  for (const TokenId token : sequence.forbidden) {
    const auto id = static_cast<std::size_t>(token);
    if (id < adjusted_.size()) adjusted_[id] = -kInfinity;  // what does not exist is not drawn
  }
  for (const TokenBias& bias : sequence.logit_bias) {
    float& logit = adjusted_[static_cast<std::size_t>(bias.token)];
    if (logit != -kInfinity) logit = Finite(logit + bias.bias);
  }
  if (penalizes) Penalize(sequence);
  return adjusted_;
}

void LogitAdjuster::Mask(std::span<const std::uint64_t> mask) {
  for (std::size_t word = 0; word < mask.size(); ++word) {
    if (mask[word] == ~std::uint64_t{0}) continue;
    const std::size_t end = std::min((word + 1) * 64, adjusted_.size());
    for (std::size_t i = word * 64; i < end; ++i) {
      if ((mask[word] >> (i % 64) & 1) == 0) adjusted_[i] = -kInfinity;
    }
  }
}

void LogitAdjuster::Penalize(const Sequence& sequence) {
  const SamplingParams& params = sequence.sampling;
  uses_.clear();
  token_uses_.Count(sequence.context, static_cast<std::size_t>(sequence.prompt_tokens), uses_);
  for (const auto& [token, in_answer] : uses_) {
    const auto id = static_cast<std::size_t>(token);
    float logit = adjusted_[id];
    if (logit == -kInfinity) continue;
    // Keskar et al., "CTRL", 2019, made to push down whatever the logit's sign.
    logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    logit = Finite(logit);
    if (in_answer > 0) {
      logit -= params.frequency_penalty * static_cast<float>(in_answer);
      logit -= params.presence_penalty;
    }
    adjusted_[id] = Finite(logit);
  }
}

}  // namespace banyan::model
