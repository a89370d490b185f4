// The field "kv_policy" of requests: what one keeps of its KV.
#pragma once

#include <cstdint>
#include <optional>

#include "scheduler/scheduler.h"
#include "server/openai/fields.h"
#include "server/openai/result.h"
#include "server/service.h"

namespace banyan::server::openai {

struct AskedPolicy {
  bool is_given = false;                        // else the server's default is meant
  std::optional<scheduler::KvPolicy> policy{};  // none: everything is kept
};
AskedPolicy ParseKvPolicy(Fields& fields);

enum class PromptScores : std::uint8_t { kNone, kWanted };

// The policy that a request has, none being none, or why it cannot have it. A prompt is scored with
// all that is before each token: such a request has the default none, and may not ask for one.
Result<std::optional<scheduler::KvPolicy>> PolicyFor(const ServedModel& model,
                                                     const AskedPolicy& asked, PromptScores scores);

// The most tokens that its prompt and answer may come to.
std::int64_t MostTokens(const ServedModel& model, const std::optional<scheduler::KvPolicy>& policy);

}  // namespace banyan::server::openai
