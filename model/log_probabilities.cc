#include "model/log_probabilities.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace banyan::model {

void LogProbabilities::Read(std::span<const float> logits) {
  logits_ = logits;
  const float max = Max(logits);
  log_sum_ = static_cast<double>(max) + std::log(SumOfExp(logits, max));
}

float LogProbabilities::Of(TokenId token) const {
  CHECK(token >= 0);
  // Rounding must not make a certain token more than certain.
  const double value = static_cast<double>(logits_[static_cast<std::size_t>(token)]) - log_sum_;
  return static_cast<float>(std::min(value, 0.0));
}

void LogProbabilities::Top(std::int32_t count, std::vector<TokenLogprob>& top) {
  top.clear();
  if (count <= 0) return;
  const std::span<Ranked> best = leaders_.Find(logits_, {}, static_cast<std::size_t>(count));
  std::sort(best.begin(), best.end());
  top.reserve(best.size());
  for (const Ranked& one : best) top.push_back({one.token, Of(one.token)});
}

}  // namespace banyan::model
