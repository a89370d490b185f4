// What is asked of a budget, by every type of policy that has one.
#pragma once

#include "absl/status/status.h"
#include "scheduler/policies/policy.h"
#include "scheduler/scheduler.h"

namespace banyan::scheduler {

// kOutOfRange where the budget is over the context.
absl::Status CheckInContext(const KvPolicy& policy, const Options& options);

// Of a budget of slots that survive, what chooses them, and all that it is by itself.
absl::Status CheckChosen(const KvPolicy& policy, const Options& options);

// kOutOfRange where what survives is over the pool, beside the shortest prompt that it is from.
absl::Status CheckSurvivors(const KvPolicy& policy, const Policy& made,
                            const radix::Options& cache);

// Check of a policy of which a budget of slots survives.
template <class Made>
absl::Status CheckBudget(const KvPolicy& policy, const Options& options,
                         const radix::Options& cache) {
  absl::Status status = CheckChosen(policy, options);
  if (!status.ok()) return status;
  return CheckSurvivors(policy, Made(policy, cache.page_size), cache);
}

}  // namespace banyan::scheduler
