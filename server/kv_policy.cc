#include "server/kv_policy.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/quantity.h"

namespace banyan::server {
namespace {

using scheduler::KvPolicy;

template <auto KvPolicy::*kMember>
constexpr KvPolicyMember Member(std::string_view name, std::int64_t least, std::int64_t most) {
  return {name, least, most,
          [](KvPolicy& policy, std::int64_t value) {
            using Number = std::remove_reference_t<decltype(policy.*kMember)>;
            policy.*kMember = static_cast<Number>(value);
          },
          [](const KvPolicy& policy) -> std::int64_t { return policy.*kMember; }};
}

constexpr auto kSinks = Member<&KvPolicy::sinks>("sinks", 0, kernels::KeyWindow::kMaxSinks);
constexpr auto kWindow = Member<&KvPolicy::window>("window", 1, scheduler::kMaxPolicyTokens);
constexpr auto kBudget = Member<&KvPolicy::budget>("budget", 1, scheduler::kMaxPolicyTokens);
// What it is where nobody said it, too.
constexpr KvPolicyMember kRecent = {
    "recent", 1, scheduler::kMaxPolicyTokens,
    [](KvPolicy& policy, std::int64_t value) { policy.recent = value; }, scheduler::RecentOf};
constexpr auto kObserve = Member<&KvPolicy::observe>("observe", 1, KvPolicy::kMaxObserved);
constexpr auto kHistory = Member<&KvPolicy::history>("history", 1, kernels::KeepRule::kMaxHistory);
constexpr auto kPooled = Member<&KvPolicy::pooled>("pooled", 1, kernels::KeepRule::kMaxPooled);

constexpr auto kDenseLayers =
    Member<&KvPolicy::dense_layers>("dense_layers", 0, kernels::PageChoice::kMaxDenseLayers);

constexpr KvPolicyMember kStreamingMembers[] = {kSinks, kWindow};
constexpr KvPolicyMember kH2oMembers[] = {kBudget, kRecent, kObserve};
constexpr KvPolicyMember kScissorhandsMembers[] = {kBudget, kRecent, kObserve, kHistory};
constexpr KvPolicyMember kSnapKvMembers[] = {kBudget, kRecent, kObserve, kPooled};
constexpr KvPolicyMember kQuestMembers[] = {kBudget, kDenseLayers};

std::string NamesOf(std::span<const KvPolicyMember> members) {
  std::string names;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const bool is_last = i + 1 == members.size();
    absl::StrAppend(&names, i == 0 ? "" : is_last ? " or " : ", ", std::string(members[i].name));
  }
  return names;
}

absl::Status SetMember(std::string_view member, KvPolicy& policy) {
  const std::size_t equals = member.find('=');
  const std::string name(member.substr(0, equals));
  const std::span<const KvPolicyMember> members = MembersOf(policy.type);
  const auto found = std::ranges::find(members, name, &KvPolicyMember::name);
  if (found == members.end()) {
    return absl::InvalidArgumentError(absl::StrCat("'", name, "' is no member of a ",
                                                   std::string(Name(policy.type)), " policy (use ",
                                                   NamesOf(members), ")"));
  }
  const std::string_view text =
      equals == std::string_view::npos ? std::string_view() : member.substr(equals + 1);
  const absl::StatusOr<std::int64_t> value = ParseInteger(text);
  if (!value.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", value.status().message()));
  }
  if (*value < found->least || *value > found->most) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " must be between ", found->least, " and ", found->most));
  }
  found->set(policy, *value);
  return absl::OkStatus();
}

}  // namespace

std::span<const KvPolicyMember> MembersOf(KvPolicy::Type type) {
  switch (type) {
    case KvPolicy::Type::kStreaming:
      return kStreamingMembers;
    case KvPolicy::Type::kH2o:
      return kH2oMembers;
    case KvPolicy::Type::kScissorhands:
      return kScissorhandsMembers;
    case KvPolicy::Type::kSnapKv:
      return kSnapKvMembers;
    case KvPolicy::Type::kQuest:
      return kQuestMembers;
  }
  return {};
}

std::optional<KvPolicy::Type> FindKvPolicyType(std::string_view name) {
  for (int i = 0; i < scheduler::kKvPolicyTypes; ++i) {
    const auto type = static_cast<KvPolicy::Type>(i);
    if (name == Name(type)) return type;
  }
  return std::nullopt;
}

absl::StatusOr<std::optional<KvPolicy>> ParseKvPolicy(std::string_view text) {
  if (text == kExactPolicy) return std::optional<KvPolicy>();
  const std::size_t colon = text.find(':');
  if (text.substr(0, colon) == kExactPolicy) {
    return absl::InvalidArgumentError(absl::StrCat("an exact policy has no members, and '",
                                                   std::string(text.substr(colon + 1)),
                                                   "' is given"));
  }
  const std::optional<KvPolicy::Type> type = FindKvPolicyType(text.substr(0, colon));
  if (!type) {
    return absl::InvalidArgumentError(absl::StrCat("'", std::string(text.substr(0, colon)),
                                                   "' is not known (use ",
                                                   std::string(kKnownPolicies), ")"));
  }
  std::optional<KvPolicy> policy = KvPolicy{.type = *type};
  if (colon == std::string_view::npos) return policy;
  std::string_view members = text.substr(colon + 1);
  std::vector<std::string_view> given;
  while (true) {
    const std::size_t comma = members.find(',');
    const std::string_view member = members.substr(0, comma);
    absl::Status status = SetMember(member, *policy);
    if (!status.ok()) return status;
    const std::string_view name = member.substr(0, member.find('='));
    if (std::ranges::find(given, name) != given.end())
      return absl::InvalidArgumentError(absl::StrCat(std::string(name), " is there twice"));
    given.push_back(name);
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
  if (!facts.compacts && policy.type != KvPolicy::Type::kStreaming) {
    const bool chooses = policy.type == KvPolicy::Type::kQuest;
    return absl::InvalidArgumentError(
        absl::StrCat("a ", std::string(Name(policy.type)), " policy ",
                     chooses ? "chooses pages by the bounds of their keys" : "keeps single tokens",
                     ", which the ", facts.kv_dtype, " pages of this model cannot"));
  }
  // The null model says of no layers.
  if (policy.type == KvPolicy::Type::kQuest && facts.layers > 0 &&
      policy.dense_layers >= facts.layers) {
    return absl::InvalidArgumentError(absl::StrCat("with ", policy.dense_layers,
                                                   " dense_layers none of the model's ",
                                                   facts.layers, " would choose pages"));
  }
  return scheduler::CheckPolicy(scheduling, cache, policy);
}

}  // namespace banyan::server
