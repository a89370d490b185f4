#include "kernels/cpu/survivors.h"

#include <algorithm>
#include <numeric>

#include "kernels/require.h"

namespace banyan::kernels {

void Survivors::Reserve(std::int64_t slots) {
  const auto size = static_cast<std::size_t>(slots);
  if (size <= slots_.size()) return;
  importance_.resize(size);
  pooled_.resize(size);
  slots_.resize(size);
}

std::span<const std::int32_t> Survivors::Choose(const KeepRule& rule,
                                                std::span<const float> importance) {
  const std::int64_t slots = std::ssize(importance);
  Require(slots <= std::ssize(slots_), "survivors are of as many slots as were reserved");
  const auto all = std::span(slots_).first(importance.size());
  std::iota(all.begin(), all.end(), 0);
  if (slots <= rule.budget) return all;
  Pool(rule, importance);
  const auto first = all.begin() + rule.sinks;
  const auto last = all.end() - rule.recent;
  const auto end = first + (rule.budget - rule.sinks - rule.recent);
  std::nth_element(first, end, last, [&](std::int32_t a, std::int32_t b) {
    const float left = pooled_[static_cast<std::size_t>(a)];
    const float right = pooled_[static_cast<std::size_t>(b)];
    return left != right ? left > right : a < b;
  });
  std::sort(first, end);
  std::copy(last, all.end(), end);
  return all.first(static_cast<std::size_t>(rule.budget));
}

void Survivors::Pool(const KeepRule& rule, std::span<const float> importance) {
  const std::int64_t slots = std::ssize(importance) - rule.recent;
  const std::int64_t reach = rule.pooled / 2;
  for (std::int64_t i = rule.sinks; i < slots; ++i) {
    const auto begin = importance.begin() + std::max<std::int64_t>(i - reach, 0);
    const auto end = importance.begin() + std::min(i + reach + 1, slots);
    pooled_[static_cast<std::size_t>(i)] = *std::max_element(begin, end);
  }
}

}  // namespace banyan::kernels
