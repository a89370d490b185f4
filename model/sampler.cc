#include "model/sampler.h"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "absl/status/status.h"
#include "base/check.h"
#include "model/philox.h"

namespace banyan::model {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Weights whose sums are taken first, so that a draw walks over few of them.
constexpr std::size_t kBlock = 512;
// Values looked at together for one that matters.
constexpr std::size_t kGlance = 64;
// Candidates that are simply sorted.
constexpr std::ptrdiff_t kFew = 64;

// The lowest id that has the largest logit.
TokenId FirstOf(std::span<const float> logits, float max) {
  std::size_t first = 0;
  while (Max(logits.subspan(first, std::min(kGlance, logits.size() - first))) < max) {
    first += kGlance;
  }
  return static_cast<TokenId>(
      std::find(logits.begin() + static_cast<std::ptrdiff_t>(first), logits.end(), max) -
      logits.begin());
}

}  // namespace

void CheckParams(const SamplingParams& params) {
  CHECK(params.temperature >= 0 && params.temperature < kInfinity);
  CHECK(params.top_k >= 0);
  CHECK(params.top_p > 0 && params.top_p <= 1);
  CHECK(params.min_p >= 0 && params.min_p <= 1);
}

double UniformOf(const Sequence& sequence) {
  const SamplingParams& params = sequence.sampling;
  const auto at = static_cast<std::uint64_t>(sequence.first_position +
                                             static_cast<std::int64_t>(sequence.tokens.size()));
  const PhiloxCounter counter = {static_cast<std::uint32_t>(at),
                                 static_cast<std::uint32_t>(at >> 32), params.choice, 0};
  const PhiloxKey key = {static_cast<std::uint32_t>(params.seed),
                         static_cast<std::uint32_t>(params.seed >> 32)};
  return UniformFrom(Philox(counter, key));
}

absl::Status NoTokenMayFollow() {
  return absl::InvalidArgumentError("no token may follow: all are masked or forbidden");
}

Sampler::Sampler(std::int32_t vocabulary_size)
    : adjuster_(vocabulary_size), weights_(static_cast<std::size_t>(vocabulary_size)) {}

absl::StatusOr<TokenId> Sampler::Sample(std::span<const float> logits, const Sequence& sequence) {
  const SamplingParams& params = sequence.sampling;
  CheckParams(params);
  const std::span<const float> adjusted = adjuster_.Adjust(logits, sequence);
  const float max = Max(adjusted);
  if (max == -kInfinity) return NoTokenMayFollow();
  if (params.temperature == 0) return FirstOf(adjusted, max);
  Weigh(adjusted, max, params.temperature, weights_);
  if (params.min_p > 0) KeepMinP(params.min_p);
  if (params.top_k > 0) KeepTopK(adjusted, params.top_k);
  if (params.top_p < 1) KeepTopP(adjusted, static_cast<double>(params.top_p));
  return DrawByWeight(UniformOf(sequence));
}

// The first token has weight 1, so that the weights are relative to it.
// Nguyen et al., "Turning Up the Heat: Min-p Sampling", 2024.
void Sampler::KeepMinP(float min_p) {
  for (float& weight : weights_) weight = weight < min_p ? 0 : weight;
}

// Fan, Lewis, Dauphin, "Hierarchical Neural Story Generation", 2018.
void Sampler::KeepTopK(std::span<const float> logits, std::int32_t top_k) {
  const auto count = static_cast<std::size_t>(top_k);
  if (count >= weights_.size()) return;
  const std::span<const Ranked> kept = leaders_.Find(logits, weights_, count);
  if (kept.size() == count) KeepUpTo(logits, kept.back());
}

// Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020.
void Sampler::KeepTopP(std::span<const float> logits, double top_p) {
  const double total = Sum(weights_);
  // Tokens below this weight have less than (1 - top_p) * total together, so the nucleus is full
  // before it needs one of them. Of real distributions few hundred tokens remain.
  const double cut = (1 - top_p) * total / static_cast<double>(weights_.size());
  candidates_.clear();
  const auto counts = [&](float weight) {
    return weight > 0 && static_cast<double>(weight) >= cut;
  };
  for (std::size_t first = 0; first < weights_.size(); first += kGlance) {
    const std::size_t size = std::min(kGlance, weights_.size() - first);
    if (!counts(Max(std::span(weights_).subspan(first, size)))) continue;
    for (std::size_t i = first; i < first + size; ++i) {
      if (counts(weights_[i])) candidates_.push_back({logits[i], static_cast<TokenId>(i)});
    }
  }
  KeepUpTo(logits, LastOfNucleus(top_p * total));
}

// Halves the candidates until few are left among which the nucleus ends: O(candidates) on average.
Ranked Sampler::LastOfNucleus(double wanted) {
  const auto weight_of = [&](const Ranked& one) {
    return static_cast<double>(weights_[static_cast<std::size_t>(one.token)]);
  };
  double sum = 0;  // of those before `first`
  auto first = candidates_.begin();
  auto end = candidates_.end();
  while (end - first > kFew) {
    const auto middle = first + (end - first) / 2;
    std::nth_element(first, middle, end);
    double half = 0;
    for (auto at = first; at != middle; ++at) half += weight_of(*at);
    if (sum + half >= wanted) {
      end = middle;
    } else {
      sum += half;
      first = middle;
    }
  }
  std::sort(first, end);
  for (auto at = first; at != end; ++at) {
    sum += weight_of(*at);
    if (sum >= wanted) return *at;
  }
  return *(end - 1);  // rounding left a little beyond the last
}

void Sampler::KeepUpTo(std::span<const float> logits, const Ranked& last) {
  const std::size_t size = weights_.size();
  const std::size_t after = static_cast<std::size_t>(last.token) + 1;
  for (std::size_t i = 0; i < after; ++i) weights_[i] = logits[i] < last.logit ? 0 : weights_[i];
  for (std::size_t i = after; i < size; ++i) {
    weights_[i] = logits[i] > last.logit ? weights_[i] : 0;
  }
}

// The token in whose share of [0, total) the number falls, in order of ids. Rounding may leave a
// little beyond the last share: that goes to the last token with one.
TokenId Sampler::DrawByWeight(double uniform) {
  block_sums_.clear();
  double total = 0;
  for (std::size_t first = 0; first < weights_.size(); first += kBlock) {
    const std::size_t size = std::min(kBlock, weights_.size() - first);
    block_sums_.push_back(Sum(std::span(weights_).subspan(first, size)));
    total += block_sums_.back();
  }
  double left = uniform * total;
  std::size_t block = 0;
  double left_in_block = left;
  for (std::size_t i = 0; i < block_sums_.size() && left >= 0; ++i) {
    if (block_sums_[i] == 0) continue;
    block = i;
    left_in_block = left;
    left -= block_sums_[i];
  }
  TokenId drawn = -1;
  const std::size_t end = std::min((block + 1) * kBlock, weights_.size());
  for (std::size_t i = block * kBlock; i < end && left_in_block >= 0; ++i) {
    if (weights_[i] == 0) continue;
    drawn = static_cast<TokenId>(i);
    left_in_block -= static_cast<double>(weights_[i]);
  }
  return drawn;
}

}  // namespace banyan::model
