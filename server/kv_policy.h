// Policies of what a request keeps of its KV, as people write them: names, and the text that
// --kv-policy takes.
#pragma once

#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/model.h"
#include "radix/prefix_cache.h"
#include "scheduler/scheduler.h"

namespace banyan::server {

inline constexpr std::string_view kExactPolicy = "exact";
inline constexpr std::string_view kKnownPolicies = "exact or streaming";

// None for a name that is not known, and for kExactPolicy.
std::optional<scheduler::KvPolicy::Type> FindKvPolicyType(std::string_view name);

// "exact" (nullopt: everything is kept) or "streaming:sinks=4,window=1024", with any of the members
// or none. kInvalidArgument names what is wrong.
absl::StatusOr<std::optional<scheduler::KvPolicy>> ParseKvPolicy(std::string_view text);

// Whether requests to that model, so served, can have the policy; as scheduler::CheckPolicy.
absl::Status CheckServable(const model::Facts& facts, const scheduler::Options& scheduling,
                           const radix::Options& cache, const scheduler::KvPolicy& policy);

}  // namespace banyan::server
