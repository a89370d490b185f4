// Requests with policies, and what each must be answered.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/scheduler/answer.h"

namespace banyan::scheduler {

Ask AskUnder(std::vector<TokenId> prompt, std::int64_t max_tokens, const KvPolicy& policy);

// The first `count` tokens of its answer in an engine without cache, budget or neighbours, in pages
// of that size.
std::vector<TokenId> Alone(const Ask& ask, std::int64_t count, std::int32_t page_size = 4);

// It has all of that, and ended with max_tokens.
void ExpectWhole(const Answer& answer);

}  // namespace banyan::scheduler
