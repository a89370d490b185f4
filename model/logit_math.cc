#include "model/logit_math.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"

namespace banyan::model {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Reductions run in this many lanes, merged in order: quick, and the same bits on every machine.
constexpr std::size_t kLanes = 8;
// Values exponentiated at once where they are only summed.
constexpr std::size_t kRun = 1024;
// Values looked at together for one that matters.
constexpr std::size_t kGlance = 64;

constexpr float kLowest = -88.0F;

// exp(x) for kLowest <= x <= 0, within 3 units in the last place; it may be 0 where that is
// below the smallest normal float, and is of kLowest. Plain arithmetic, because the library's
// differs between machines and does not vectorize. Cody & Waite's argument reduction: x = n ln 2 +
// r, |r| <= ln(2) / 2.
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

}  // namespace

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

// One simple loop after another, because compilers vectorize those.
void Weigh(std::span<const float> logits, float max, float temperature, std::span<float> out) {
  const std::size_t size = logits.size();
  CHECK(out.size() >= size);
  // A division, because the reciprocal of a tiny temperature is infinite.
  for (std::size_t i = 0; i < size; ++i) out[i] = (logits[i] - max) / temperature;
  for (std::size_t i = 0; i < size; ++i) out[i] = out[i] < kLowest ? kLowest : out[i];
  for (std::size_t i = 0; i < size; ++i) out[i] = Exp(out[i]);
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

// What is collected is cut back to `count` whenever it has doubled; what comes later must beat the
// last of those, and an equal logit does not, because its id is higher.
std::span<Ranked> Leaders::Find(std::span<const float> logits, std::span<const float> weights,
                                std::size_t count) {
  CHECK(count >= 1 && (weights.empty() || weights.size() == logits.size()));
  best_.clear();
  float bar = -kInfinity;
  for (std::size_t first = 0; first < logits.size(); first += kGlance) {
    const std::size_t end = std::min(first + kGlance, logits.size());
    if (!(Max(logits.subspan(first, end - first)) > bar)) continue;
    for (std::size_t i = first; i < end; ++i) {
      if (!(logits[i] > bar) || (!weights.empty() && weights[i] == 0)) continue;
      best_.push_back({logits[i], static_cast<TokenId>(i)});
      if (best_.size() < 2 * count) continue;
      Keep(count);
      bar = best_.back().logit;
    }
  }
  Keep(count);
  return best_;
}

void Leaders::Keep(std::size_t count) {
  if (best_.empty()) return;
  count = std::min(count, best_.size());
  const auto last = best_.begin() + static_cast<std::ptrdiff_t>(count) - 1;
  std::nth_element(best_.begin(), last, best_.end());
  best_.resize(count);
}

}  // namespace banyan::model
