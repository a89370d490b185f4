#include "server/eval/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"

namespace banyan::server {
namespace {

struct Moments {
  double mean = 0;
  double error = 0;  // of the mean
};

template <class Value>
Moments MomentsOf(const std::vector<TokenComparison>& tokens, Value value) {
  const auto count = static_cast<double>(tokens.size());
  Moments moments;
  for (const TokenComparison& token : tokens) moments.mean += value(token) / count;
  if (tokens.size() < 2) return moments;
  double squares = 0;
  for (const TokenComparison& token : tokens) {
    const double apart = value(token) - moments.mean;
    squares += apart * apart;
  }
  moments.error = std::sqrt(squares / (count - 1) / count);
  return moments;
}

std::size_t Greatest(std::span<const float> logits) {
  return static_cast<std::size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace

TokenComparison CompareLogits(std::span<const float> exact, std::span<const float> other,
                              TokenId next) {
  CHECK(!exact.empty() && exact.size() == other.size());
  CHECK(0 <= next && static_cast<std::size_t>(next) < exact.size());
  const std::size_t exact_greedy = Greatest(exact);
  const std::size_t greedy = Greatest(other);
  const double exact_top = exact[exact_greedy];
  const double top = other[greedy];
  // With p = exp(a - A) and q = exp(b - B), where A and B are the logarithms of the sums, the
  // divergence is the sum of p (a - b), less A - B: one pass, and 0 where both are the same bits.
  double exact_sum = 0;
  double sum = 0;
  double weighted = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double a = exact[i];
    const double b = other[i];
    const double weight = std::exp(a - exact_top);
    exact_sum += weight;
    weighted += weight * (a - b);
    sum += std::exp(b - top);
  }
  const double exact_log = exact_top + std::log(exact_sum);
  const double log = top + std::log(sum);
  const auto at = static_cast<std::size_t>(next);
  return {.exact_surprise = exact_log - static_cast<double>(exact[at]),
          .surprise = log - static_cast<double>(other[at]),
          .divergence = std::max(0.0, weighted / exact_sum - (exact_log - log)),
          .same_greedy = exact_greedy == greedy};
}

Quality Comparison::Summary() const {
  CHECK(!tokens_.empty());
  using Token = TokenComparison;
  const Moments exact = MomentsOf(tokens_, [](const Token& t) { return t.exact_surprise; });
  const Moments other = MomentsOf(tokens_, [](const Token& t) { return t.surprise; });
  const Moments apart =
      MomentsOf(tokens_, [](const Token& t) { return t.surprise - t.exact_surprise; });
  Quality quality;
  quality.tokens = static_cast<std::int64_t>(tokens_.size());
  quality.exact_perplexity = std::exp(exact.mean);
  quality.perplexity = std::exp(other.mean);
  quality.perplexity_error = quality.perplexity * other.error;
  quality.ratio = std::exp(apart.mean);
  quality.ratio_error = quality.ratio * apart.error;
  quality.mean_divergence = MomentsOf(tokens_, [](const Token& t) { return t.divergence; }).mean;
  quality.greedy_agreement =
      static_cast<double>(std::count_if(tokens_.begin(), tokens_.end(),
                                        [](const Token& t) { return t.same_greedy; })) /
      static_cast<double>(tokens_.size());
  std::vector<double> divergences;
  divergences.reserve(tokens_.size());
  for (const Token& token : tokens_) divergences.push_back(token.divergence);
  const std::size_t rank = (tokens_.size() * 99 + 99) / 100;  // rounded up, from 1 on
  const auto p99 = divergences.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  std::nth_element(divergences.begin(), p99, divergences.end());
  quality.p99_divergence = *p99;
  return quality;
}

}  // namespace banyan::server
