#include "server/openai/kv_policy.h"

#include <algorithm>
#include <boost/json/object.hpp>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "scheduler/policies/policy.h"
#include "server/kv_policy.h"

namespace banyan::server::openai {
namespace {

namespace json = boost::json;
using scheduler::KvPolicy;

constexpr std::string_view kField = "kv_policy";

void RefuseOthers(const json::object& object, std::span<const KvPolicyMember> members,
                  std::string_view type, Fields& fields) {
  for (const auto& member : object) {
    const std::string name(member.key().data(), std::min<std::size_t>(member.key().size(), 64));
    if (name == "type" || std::ranges::find(members, name, &KvPolicyMember::name) != members.end())
      continue;
    fields.Refuse(name, absl::StrCat("'", fields.Param(name), "' is no member of the policy '",
                                     std::string(type), "'."));
  }
}

// `fields` reads `object`.
AskedPolicy ParseObject(const json::object& object, Fields& fields) {
  AskedPolicy asked{.is_given = true};
  const std::optional<std::string_view> name = fields.Text("type");
  if (!name) {
    fields.Refuse("type", absl::StrCat("'kv_policy.type' is missing (use ",
                                       std::string(kKnownPolicies), ")."));
    return asked;
  }
  if (*name == kExactPolicy) {
    RefuseOthers(object, {}, *name, fields);
    return asked;
  }
  const std::optional<KvPolicy::Type> type = FindKvPolicyType(*name);
  if (!type) {
    fields.Refuse("type", absl::StrCat("'kv_policy.type' '", std::string(name->substr(0, 64)),
                                       "' is not known (use ", std::string(kKnownPolicies), ")."));
    return asked;
  }
  const std::span<const KvPolicyMember> members = MembersOf(*type);
  RefuseOthers(object, members, *name, fields);
  KvPolicy policy{.type = *type};
  for (const KvPolicyMember& member : members) {
    const auto value = fields.Integer(member.name, member.least, member.most);
    if (value) member.set(policy, *value);
  }
  asked.policy = policy;
  return asked;
}

}  // namespace

AskedPolicy ParseKvPolicy(Fields& fields) {
  const json::object* object = fields.Object(kField);
  if (object == nullptr) return {};
  Fields inner(*object, std::string(kField));
  AskedPolicy asked = ParseObject(*object, inner);
  if (inner.error()) fields.Refuse(*inner.error());
  return asked;
}

Result<std::optional<KvPolicy>> PolicyFor(const ServedModel& model, const AskedPolicy& asked,
                                          PromptScores scores) {
  const bool scored = scores == PromptScores::kWanted;
  if (!asked.is_given) return scored ? std::optional<KvPolicy>() : model.kv_policy;
  if (!asked.policy) return std::optional<KvPolicy>();
  if (scored) {
    return Invalid(std::string(kField),
                   "'kv_policy' cannot be combined with 'echo' and 'logprobs': a prompt is scored "
                   "with all that is before each token.");
  }
  const absl::Status status =
      CheckServable(model.facts, model.scheduling, model.cache, *asked.policy);
  if (status.ok()) return asked.policy;
  return Invalid(std::string(kField),
                 absl::StrCat("'kv_policy' cannot be: ", status.message(), "."));
}

std::int64_t MostTokens(const ServedModel& model, const std::optional<KvPolicy>& policy) {
  if (!policy) return model.scheduling.context_length;
  const auto made = MakePolicy(*policy, model.cache.page_size, model.scheduling.max_batch_tokens);
  return made->is_endless() ? scheduler::kMaxPolicyTokens : model.scheduling.context_length;
}

}  // namespace banyan::server::openai
