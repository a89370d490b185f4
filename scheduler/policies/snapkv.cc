#include "scheduler/policies/snapkv.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/fit.h"
#include "scheduler/policies/budget.h"

namespace banyan::scheduler {

absl::Status SnapKv::Check(const KvPolicy& policy, const Options& options,
                           const radix::Options& cache) {
  return CheckBudget<SnapKv>(policy, options, cache);
}

SnapKv::SnapKv(const KvPolicy& policy, std::int32_t /*page_size*/)
    : keep_{.budget = policy.budget, .recent = RecentOf(policy), .pooled = policy.pooled},
      observe_(policy.observe) {
  CHECK(keep_.is_sound() && observe_ >= 1);
}

// Computed again after a preemption, prompt and answer are there at once.
std::optional<std::int64_t> SnapKv::max_output(std::int64_t prompt_tokens,
                                               const radix::Options& pool) const {
  if (prompt_tokens <= keep_.budget) return PoolOutput(prompt_tokens, pool);
  const std::int64_t left = pool.pages - PagesFor(prompt_tokens, pool.page_size);
  return left * pool.page_size - keep_.budget + 1;
}

std::int64_t SnapKv::max_cached(std::int64_t prompt_tokens) const {
  if (prompt_tokens <= keep_.budget) return prompt_tokens;
  return std::max<std::int64_t>(prompt_tokens - observe_, 0);
}

std::optional<Policy::Observed> SnapKv::observed(std::int64_t prompt_tokens,
                                                 std::int64_t first) const {
  if (prompt_tokens <= keep_.budget || first >= prompt_tokens) return std::nullopt;
  return Observed{.from = max_cached(prompt_tokens), .by = kernels::SlotImportance::kSum};
}

std::optional<kernels::KeepRule> SnapKv::compaction(std::int64_t prompt_tokens, std::int64_t tokens,
                                                    std::int64_t slots) const {
  if (tokens != prompt_tokens || slots <= keep_.budget) return std::nullopt;
  return keep_;
}

std::optional<Policy::Survival> SnapKv::survival(std::int64_t prompt_tokens,
                                                 std::int64_t known) const {
  if (prompt_tokens <= keep_.budget) return std::nullopt;
  const std::int64_t answer = std::max<std::int64_t>(known - prompt_tokens, 1);
  return Survival{.before = prompt_tokens, .after = keep_.budget + answer};
}

std::int64_t SnapKv::dropped_tokens(std::int64_t prompt_tokens, std::int64_t tokens) const {
  return tokens > prompt_tokens ? std::max<std::int64_t>(prompt_tokens - keep_.budget, 0) : 0;
}

}  // namespace banyan::scheduler
