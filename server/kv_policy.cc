#include "server/kv_policy.h"

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "server/quantity.h"

namespace banyan::server {
namespace {

using scheduler::KvPolicy;

absl::Status SetMember(std::string_view member, KvPolicy& policy) {
  const std::size_t equals = member.find('=');
  const std::string name(member.substr(0, equals));
  if (name != "sinks" && name != "window") {
    return absl::InvalidArgumentError(
        absl::StrCat("'", name, "' is no member of a streaming policy (use sinks or window)"));
  }
  const std::string_view text =
      equals == std::string_view::npos ? std::string_view() : member.substr(equals + 1);
  const absl::StatusOr<std::int64_t> value = ParseInteger(text);
  if (!value.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", value.status().message()));
  }
  if (*value < 0 || *value > scheduler::kMaxPolicyTokens) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be between 0 and ", scheduler::kMaxPolicyTokens));
  }
  if (name == "sinks") {
    policy.sinks = static_cast<std::int32_t>(*value);
  } else {
    policy.window = *value;
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<KvPolicy::Type> FindKvPolicyType(std::string_view name) {
  if (name == Name(KvPolicy::Type::kStreaming)) return KvPolicy::Type::kStreaming;
  return std::nullopt;
}

absl::StatusOr<std::optional<KvPolicy>> ParseKvPolicy(std::string_view text) {
  if (text == kExactPolicy) return std::optional<KvPolicy>();
  const std::size_t colon = text.find(':');
  const std::optional<KvPolicy::Type> type = FindKvPolicyType(text.substr(0, colon));
  if (!type) {
    return absl::InvalidArgumentError(absl::StrCat("'", std::string(text.substr(0, colon)),
                                                   "' is not known (use ",
                                                   std::string(kKnownPolicies), ")"));
  }
  std::optional<KvPolicy> policy = KvPolicy{.type = *type};
  if (colon == std::string_view::npos) return policy;
  std::string_view members = text.substr(colon + 1);
  while (true) {
    const std::size_t comma = members.find(',');
    absl::Status status = SetMember(members.substr(0, comma), *policy);
    if (!status.ok()) return status;
    if (comma == std::string_view::npos) return policy;
    members = members.substr(comma + 1);
  }
}

absl::Status CheckServable(const model::Facts& facts, const scheduler::Options& scheduling,
                           const radix::Options& cache, const KvPolicy& policy) {
  if (!facts.every_layer_sees_all) {
    return absl::InvalidArgumentError(
        absl::StrCat("a ", std::string(Name(policy.type)),
                     " policy has no meaning on this model, whose layers have windows of their "
                     "own"));
  }
  return scheduler::CheckPolicy(scheduling, cache, policy);
}

}  // namespace banyan::server
