#include "scheduler/policies/quest.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "scheduler/fit.h"
#include "scheduler/policies/budget.h"

namespace banyan::scheduler {

absl::Status Quest::Check(const KvPolicy& policy, const Options& options,
                          const radix::Options& cache) {
  if (policy.dense_layers < 0 || policy.dense_layers > kernels::PageChoice::kMaxDenseLayers) {
    return absl::InvalidArgumentError(
        absl::StrCat("dense_layers must be between 0 and ", kernels::PageChoice::kMaxDenseLayers));
  }
  if (policy.budget < cache.page_size) {
    return absl::InvalidArgumentError(absl::StrCat("the budget of ", policy.budget,
                                                   " tokens is less than a page, which has ",
                                                   cache.page_size));
  }
  return CheckInContext(policy, options);
}

Quest::Quest(const KvPolicy& policy, std::int32_t page_size)
    : choice_{.pages = policy.budget / page_size, .dense_layers = policy.dense_layers},
      page_size_(page_size) {
  CHECK(choice_.is_made());
}

std::optional<std::int64_t> Quest::max_output(std::int64_t prompt_tokens,
                                              const radix::Options& pool) const {
  return PoolOutput(prompt_tokens, pool);
}

std::int64_t Quest::unread_tokens(std::int64_t prompt_tokens, std::int64_t tokens) const {
  if (tokens <= prompt_tokens) return 0;
  const std::int64_t pages = PagesFor(tokens, static_cast<std::int32_t>(page_size_));
  return std::max<std::int64_t>(pages - choice_.pages, 0) * page_size_;
}

}  // namespace banyan::scheduler
