#include "model/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "base/check.h"
#include "model/philox.h"

namespace banyan::model {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Reductions run in this many lanes, merged in order: quick, and the same bits on every machine.
constexpr std::size_t kLanes = 8;
// Values exponentiated at once where they are only summed.
constexpr std::size_t kRun = 1024;

constexpr float kLowest = -88.0F;

// exp(x) for kLowest <= x <= 0, within 3 units in the last place, but 0 where that would be below
// the smallest normal float, as it is of kLowest. Plain arithmetic, because the library's differs
// between machines and does not vectorize.
// Cody & Waite's argument reduction: x = n ln 2 + r, |r| <= ln(2) / 2.
inline float Exp(float x) {
  constexpr float kRound = 0x1.8p23F;  // adding and subtracting it rounds to an integer
  const float n = (x * 1.44269504F + kRound) - kRound;
  const float r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  float p = 1.0F / 720;
  p = p * r + 1.0F / 120;
  p = p * r + 1.0F / 24;
  p = p * r + 1.0F / 6;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  // 2^n by its exponent field, which n = -127 makes that of 0.
  const auto exponent = static_cast<std::int32_t>(n) + 127;
  return p * std::bit_cast<float>(exponent << 23);
}

// out[i] = exp((logits[i] - max) / temperature), for a finite max that no logit exceeds. One simple
// loop after another, because compilers vectorize those.
void Weigh(std::span<const float> logits, float max, float temperature, std::span<float> out) {
  const std::size_t size = logits.size();
  // A division, because the reciprocal of a tiny temperature is infinite.
  for (std::size_t i = 0; i < size; ++i) out[i] = (logits[i] - max) / temperature;
  for (std::size_t i = 0; i < size; ++i) out[i] = out[i] < kLowest ? kLowest : out[i];
  for (std::size_t i = 0; i < size; ++i) out[i] = Exp(out[i]);
}

double Sum(std::span<const float> values) {
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) lanes[j] += static_cast<double>(values[i + j]);
  }
  double sum = 0;
  for (; i < values.size(); ++i) sum += static_cast<double>(values[i]);
  for (const double lane : lanes) sum += lane;
  return sum;
}

float Max(std::span<const float> values) {
  float lanes[kLanes];
  std::fill_n(lanes, kLanes, -kInfinity);
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      lanes[j] = lanes[j] < values[i + j] ? values[i + j] : lanes[j];
    }
  }
  for (; i < values.size(); ++i) lanes[0] = std::max(lanes[0], values[i]);
  return *std::max_element(lanes, lanes + kLanes);
}

bool AllFinite(std::span<const float> values) {
  // x - x is 0 for finite x and NaN otherwise, which stays NaN in the sum.
  float lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) lanes[j] += values[i + j] - values[i + j];
  }
  for (; i < values.size(); ++i) lanes[0] += values[i] - values[i];
  return std::all_of(lanes, lanes + kLanes, [](float lane) { return lane == 0; });
}

double SumOfExp(std::span<const float> logits, float max) {
  float weights[kRun];
  double sum = 0;
  while (!logits.empty()) {
    const auto run = logits.first(std::min(kRun, logits.size()));
    logits = logits.subspan(run.size());
    Weigh(run, max, 1.0F, weights);
    sum += Sum(std::span(weights).first(run.size()));
  }
  return sum;
}

double Uniform(const SamplingParams& params, std::int64_t position) {
  const auto at = static_cast<std::uint64_t>(position);
  const PhiloxCounter counter = {static_cast<std::uint32_t>(at),
                                 static_cast<std::uint32_t>(at >> 32), params.choice, 0};
  const PhiloxKey key = {static_cast<std::uint32_t>(params.seed),
                         static_cast<std::uint32_t>(params.seed >> 32)};
  return UniformFrom(Philox(counter, key));
}

}  // namespace

Sampler::Sampler(std::int32_t vocabulary_size)
    : allowed_(static_cast<std::size_t>(vocabulary_size)), weights_(allowed_.size()) {}

absl::StatusOr<Sampler::Draw> Sampler::Sample(std::span<const float> logits,
                                              const SamplingParams& params, std::int64_t position,
                                              std::span<const std::uint64_t> mask) {
  CHECK(logits.size() == weights_.size());
  CHECK(params.temperature >= 0 && params.temperature < kInfinity);
  CHECK(params.top_p > 0 && params.top_p <= 1);
  if (!AllFinite(logits)) return absl::InternalError("a logit is not a finite number");
  const std::span<const float> allowed = mask.empty() ? logits : Allowed(logits, mask);
  const float max = Max(allowed);
  if (max == -kInfinity) return absl::InvalidArgumentError("the token mask allows no token");

  Draw draw;
  if (params.temperature == 0) {
    const auto first = std::find(allowed.begin(), allowed.end(), max);
    draw.token = static_cast<TokenId>(first - allowed.begin());
  } else {
    draw.token = DrawByWeight(allowed, max, params, position);
  }
  const float top = mask.empty() ? max : Max(logits);
  const double sum = SumOfExp(logits, top);
  draw.log_probability = static_cast<float>(
      static_cast<double>(logits[static_cast<std::size_t>(draw.token)]) - top - std::log(sum));
  return draw;
}

std::span<const float> Sampler::Allowed(std::span<const float> logits,
                                        std::span<const std::uint64_t> mask) {
  CHECK(mask.size() == (logits.size() + 63) / 64);
  for (std::size_t i = 0; i < logits.size(); ++i) {
    allowed_[i] = (mask[i / 64] >> (i % 64) & 1) != 0 ? logits[i] : -kInfinity;
  }
  return allowed_;
}

TokenId Sampler::DrawByWeight(std::span<const float> logits, float max,
                              const SamplingParams& params, std::int64_t position) {
  Weigh(logits, max, params.temperature, weights_);
  const double total = Sum(weights_);
  const double uniform = Uniform(params, position);

  // The token in whose share of [0, total) the number falls. Rounding may leave a little beyond the
  // last share: that goes to the last token with one.
  double left = uniform * total;
  TokenId last = -1;
  if (params.top_p == 1.0F) {
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      if (weights_[i] == 0) continue;
      last = static_cast<TokenId>(i);
      left -= static_cast<double>(weights_[i]);
      if (left < 0) break;
    }
    return last;
  }
  left = uniform * KeepNucleus(total, static_cast<double>(params.top_p));
  for (const Candidate& candidate : kept_) {
    last = candidate.token;
    left -= static_cast<double>(candidate.weight);
    if (left < 0) break;
  }
  return last;
}

// Leaves in kept_ the smallest set of most probable tokens whose weights sum to at least
// top_p * total, and returns their sum. Holtzman et al., "The Curious Case of Neural Text
// Degeneration", 2020.
double Sampler::KeepNucleus(double total, double top_p) {
  // Tokens below this weight have less than (1 - top_p) * total together, so the nucleus is full
  // before it needs one of them. Of real distributions few hundred tokens remain.
  const double cut = (1 - top_p) * total / static_cast<double>(weights_.size());
  kept_.clear();
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    const float weight = weights_[i];
    if (weight > 0 && static_cast<double>(weight) >= cut) {
      kept_.push_back({weight, static_cast<TokenId>(i)});
    }
  }
  const auto more_probable = [](const Candidate& a, const Candidate& b) {
    return a.weight != b.weight ? a.weight > b.weight : a.token < b.token;
  };
  // Sorted from the front in growing portions, only as far as the nucleus reaches.
  double sum = 0;
  auto sorted = kept_.begin();
  for (std::ptrdiff_t portion = 64; sorted != kept_.end(); portion *= 4) {
    const auto end = sorted + std::min(portion, kept_.end() - sorted);
    std::nth_element(sorted, end - 1, kept_.end(), more_probable);
    std::sort(sorted, end, more_probable);
    for (; sorted != end; ++sorted) {
      sum += static_cast<double>(sorted->weight);
      if (sum < top_p * total) continue;
      kept_.erase(sorted + 1, kept_.end());
      return sum;
    }
  }
  return sum;
}

}  // namespace banyan::model
