#include "scheduler/policies/h2o.h"

namespace banyan::scheduler {

H2o::H2o(const KvPolicy& policy, std::int32_t page_size)
    : Rolling({.budget = policy.budget, .recent = RecentOf(policy)}, kernels::SlotImportance::kSum,
              /*bulk=*/page_size, policy.observe, page_size) {}

}  // namespace banyan::scheduler
