#include "scheduler/policies/budget.h"

#include "absl/strings/str_cat.h"
#include "scheduler/fit.h"

namespace banyan::scheduler {
namespace {

absl::Status CheckBetween(const char* name, std::int64_t value, std::int64_t most) {
  if (1 <= value && value <= most) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(name, " must be between 1 and ", most));
}

}  // namespace

absl::Status CheckInContext(const KvPolicy& policy, const Options& options) {
  if (policy.budget <= options.context_length) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "the budget of ", policy.budget, " tokens is over the context of ", options.context_length));
}

absl::Status CheckChosen(const KvPolicy& policy, const Options& options) {
  for (const absl::Status& status :
       {CheckBetween("observe", policy.observe, KvPolicy::kMaxObserved),
        CheckBetween("history", policy.history, kernels::KeepRule::kMaxHistory),
        CheckBetween("pooled", policy.pooled, kernels::KeepRule::kMaxPooled)}) {
    if (!status.ok()) return status;
  }
  if (policy.pooled % 2 == 0) return absl::InvalidArgumentError("pooled must be odd");
  if (policy.budget < 1) return absl::InvalidArgumentError("the budget must be at least 1");
  if (policy.recent < 0 || policy.recent > policy.budget) {
    return absl::InvalidArgumentError(
        absl::StrCat(policy.recent, " recent tokens are not within the budget of ", policy.budget));
  }
  return CheckInContext(policy, options);
}

absl::Status CheckSurvivors(const KvPolicy& policy, const Policy& made,
                            const radix::Options& cache) {
  const std::int64_t pages = PeakPages(made, /*prompt_tokens=*/1, cache.page_size);
  if (pages <= cache.pages) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("a budget of ", policy.budget, " tokens takes up to ",
                                            pages, " pages: over the KV pool of ", cache.pages));
}

}  // namespace banyan::scheduler
