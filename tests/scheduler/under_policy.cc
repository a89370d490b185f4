#include "tests/scheduler/under_policy.h"

#include <utility>

#include <gtest/gtest.h>

#include "scheduler/policies/policy.h"
#include "tests/scheduler/fake_model.h"
#include "tests/scheduler/oracle.h"

namespace banyan::scheduler {

Ask AskUnder(std::vector<TokenId> prompt, std::int64_t max_tokens, const KvPolicy& policy) {
  Ask ask;
  ask.prompt = std::move(prompt);
  ask.max_tokens = max_tokens;
  ask.kv_policy = policy;
  return ask;
}

std::vector<TokenId> Alone(const Ask& ask, std::int64_t count, std::int32_t page_size) {
  if (!ask.kv_policy || ask.kv_policy->type == KvPolicy::Type::kStreaming)
    return Expected(ask.prompt, count, {}, 0, WindowOf(ask.kv_policy)).tokens;
  const auto policy = MakePolicy(*ask.kv_policy, page_size, /*max_batch_tokens=*/16);
  return FakeModel::TokensKept(ask.prompt, count, *policy);
}

void ExpectWhole(const Answer& answer) {
  EXPECT_EQ(answer.tokens, Alone(answer.ask, answer.ask.max_tokens));
  EXPECT_EQ(answer.reason, FinishReason::kLength);
}

}  // namespace banyan::scheduler
