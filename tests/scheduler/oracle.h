// Prompts, and the answers that they must get.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "model/batch.h"
#include "scheduler/token_stream.h"
#include "tests/scheduler/seen.h"

namespace banyan::scheduler {

// A prompt of its own: prompts of different `which` differ in their first token.
std::vector<TokenId> Prompt(int which, std::size_t length);
std::vector<TokenId> Join(std::vector<TokenId> head, const std::vector<TokenId>& tail);

// What an engine without cache, budget or neighbours would answer.
struct Oracle {
  std::vector<TokenId> tokens;  // as sent: without the end token
  FinishReason reason = FinishReason::kNone;
  std::int64_t sampled = 0;
};
Oracle Expected(const std::vector<TokenId>& prompt, std::int64_t max_output,
                const std::vector<TokenId>& end_tokens = {}, std::int64_t min_tokens = 0,
                kernels::KeyWindow window = {});
// What the model must say of the tokens of `path` from index `from` on.
std::vector<ScoredToken> ExpectedScores(const std::vector<TokenId>& path, std::size_t from,
                                        std::int32_t top, kernels::KeyWindow window = {});
void ExpectSame(const std::vector<ScoredToken>& got, const std::vector<ScoredToken>& want);

}  // namespace banyan::scheduler
