#include "scheduler/policies/scissorhands.h"

#include <algorithm>

#include "scheduler/policies/budget.h"

namespace banyan::scheduler {

absl::Status Scissorhands::Check(const KvPolicy& policy, const Options& options,
                                 const radix::Options& cache) {
  return CheckBudget<Scissorhands>(policy, options, cache);
}

Scissorhands::Scissorhands(const KvPolicy& policy, std::int32_t page_size)
    : Rolling({.budget = policy.budget, .recent = RecentOf(policy), .history = policy.history},
              kernels::SlotImportance::kHistory,
              /*bulk=*/std::max<std::int64_t>(page_size, policy.budget / 4), policy.observe,
              page_size) {}

}  // namespace banyan::scheduler
