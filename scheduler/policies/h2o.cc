#include "scheduler/policies/h2o.h"

#include "scheduler/policies/budget.h"

namespace banyan::scheduler {

absl::Status H2o::Check(const KvPolicy& policy, const Options& options,
                        const radix::Options& cache) {
  return CheckBudget<H2o>(policy, options, cache);
}

H2o::H2o(const KvPolicy& policy, std::int32_t page_size)
    : Rolling({.budget = policy.budget, .recent = RecentOf(policy)}, kernels::SlotImportance::kSum,
              /*bulk=*/page_size, policy.observe, page_size) {}

}  // namespace banyan::scheduler
