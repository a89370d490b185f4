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
    : adjusted_(static_cast<std::size_t>(vocabulary_size)), uses_(adjusted_.size()) {}

std::span<const float> LogitAdjuster::Adjust(std::span<const float> logits,
                                             const Sequence& sequence) {
  CHECK(logits.size() == adjusted_.size());
  const bool penalizes = sequence.sampling.penalizes();
  if (sequence.token_mask.empty() && sequence.forbidden.empty() && sequence.logit_bias.empty() &&
      !penalizes) {
    return logits;
  }
  std::copy(logits.begin(), logits.end(), adjusted_.begin());
  if (!sequence.token_mask.empty()) Mask(sequence.token_mask);
  for (const TokenId token : sequence.forbidden) {
    const auto id = static_cast<std::size_t>(token);
    if (id < adjusted_.size()) adjusted_[id] = -kInfinity;  // what does not exist is not drawn
  }
  for (const TokenBias& bias : sequence.logit_bias) {
    const auto id = static_cast<std::size_t>(bias.token);
    CHECK(id < adjusted_.size() && std::isfinite(bias.bias));
    float& logit = adjusted_[id];
    if (logit != -kInfinity) logit = Finite(logit + bias.bias);
  }
  if (penalizes) Penalize(sequence);
  return adjusted_;
}

void LogitAdjuster::Mask(std::span<const std::uint64_t> mask) {
  CHECK(mask.size() == (adjusted_.size() + 63) / 64);
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
  CHECK(params.repetition_penalty > 0 && std::isfinite(params.repetition_penalty));
  CHECK(std::isfinite(params.presence_penalty) && std::isfinite(params.frequency_penalty));
  Count(sequence.context, static_cast<std::size_t>(sequence.prompt_tokens));
  for (const TokenId token : touched_) {
    const auto id = static_cast<std::size_t>(token);
    const std::int32_t in_answer = uses_[id] - 1;
    uses_[id] = 0;
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
  touched_.clear();
}

void LogitAdjuster::Count(std::span<const TokenId> context, std::size_t prompt_tokens) {
  CHECK(prompt_tokens <= context.size());
  for (std::size_t i = 0; i < context.size(); ++i) {
    const auto id = static_cast<std::size_t>(context[i]);
    CHECK(id < uses_.size());
    std::int32_t& uses = uses_[id];
    if (uses == 0) {
      uses = 1;
      touched_.push_back(context[i]);
    }
    if (i >= prompt_tokens) ++uses;
  }
}

}  // namespace banyan::model
