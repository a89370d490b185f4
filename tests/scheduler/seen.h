// What a token sees under a policy, as the models without arithmetic and their oracles have it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "model/batch.h"
#include "scheduler/kv_policy.h"

namespace banyan::scheduler {

// What the tokens of a request with that policy see.
inline kernels::KeyWindow WindowOf(const std::optional<KvPolicy>& policy) {
  if (!policy || policy->type != KvPolicy::Type::kStreaming) return {};
  return {.window = policy->window, .sinks = policy->sinks};
}

// What attend(sum, p) makes, one after the other, of all p up to `last` that a token at `position`
// sees.
template <class Attend>
std::uint64_t SumSeen(Attend attend, std::int64_t position, std::int64_t last,
                      kernels::KeyWindow window) {
  std::uint64_t sum = 0;
  const std::int64_t first = window.first_key(position);
  for (std::int64_t p = 0; p < std::min<std::int64_t>(window.sinks, first); ++p)
    sum = attend(sum, p);
  for (std::int64_t p = first; p <= last; ++p) sum = attend(sum, p);
  return sum;
}

}  // namespace banyan::scheduler
