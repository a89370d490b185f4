// Policies of what a request keeps of its KV, as people write them: names, and the text that
// --kv-policy takes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "model/model.h"
#include "radix/prefix_cache.h"
#include "scheduler/scheduler.h"

namespace banyan::server {

inline constexpr std::string_view kExactPolicy = "exact";
inline constexpr std::string_view kKnownPolicies =
    "exact, streaming, h2o, scissorhands, snapkv or quest";

// A number that belongs to policies of a type.
struct KvPolicyMember {
  std::string_view name;
  std::int64_t least = 0;
  std::int64_t most = 0;
  void (*set)(scheduler::KvPolicy& policy, std::int64_t value) = nullptr;
  std::int64_t (*get)(const scheduler::KvPolicy& policy) = nullptr;
};
std::span<const KvPolicyMember> MembersOf(scheduler::KvPolicy::Type type);

// None for a name that is not known, and for kExactPolicy.
std::optional<scheduler::KvPolicy::Type> FindKvPolicyType(std::string_view name);

// "exact" (nullopt: everything is kept) or "streaming:sinks=4,window=1024", with any of the members
// or none. kInvalidArgument names what is wrong.
absl::StatusOr<std::optional<scheduler::KvPolicy>> ParseKvPolicy(std::string_view text);

// Whether requests to that model, so served, can have the policy; as scheduler::CheckPolicy.
absl::Status CheckServable(const model::Facts& facts, const scheduler::Options& scheduling,
                           const radix::Options& cache, const scheduler::KvPolicy& policy);

}  // namespace banyan::server
