// What requests for text say alike, whichever route they take: how tokens are drawn, where the
// answer ends, how it is sent, with whom it shares pages and when it gets its turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "model/batch.h"
#include "scheduler/inbox.h"
#include "server/openai/fields.h"
#include "server/openai/kv_policy.h"
#include "server/openai/result.h"
#include "server/service.h"

namespace banyan::server::openai {

inline constexpr std::size_t kMaxLogitBiases = 1024;
inline constexpr std::size_t kMaxStopTokenIds = 16;
inline constexpr std::size_t kMaxCacheSaltBytes = 1024;
// Tokens whose log-probabilities one answer may have, the prompts' and all choices' together. Each
// takes up to 2 KB, and an answer that is sent at once is held whole.
inline constexpr std::int64_t kMaxScoredTokens = 1 << 17;
inline constexpr double kMinRepetitionPenalty = 0.01;
inline constexpr double kMaxRepetitionPenalty = 100;

inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

struct Generation {
  std::optional<std::int64_t> max_tokens;  // >= 0
  std::string_view max_tokens_field;       // the field that gave it
  // Where none did; cut to what the context leaves (under a policy: to a context's tokens), and to
  // kMaxScoredTokens with log-probabilities.
  std::int64_t default_max_tokens = kNoLimit;
  std::int64_t min_tokens = 0;  // <= max_tokens
  SamplingParams sampling{};    // but for the seed
  std::optional<std::uint64_t> seed;
  std::vector<TokenBias> logit_bias;  // of distinct tokens, each from -100 to 100
  std::vector<std::string> stop;      // as StopMatcher takes them
  std::vector<TokenId> stop_token_ids;
  bool ignore_eos = false;
  // Alternatives reported with each token; absent: no log-probabilities.
  std::optional<std::int32_t> logprobs;
  bool stream = false;
  bool include_usage = false;  // with stream only
  std::string cache_salt;      // at most kMaxCacheSaltBytes; empty: none was given
  std::int32_t priority = 0;   // 0..scheduler::kMaxPriority, higher first
  AskedPolicy kv_policy{};
  PromptScores prompt_scores = PromptScores::kNone;
};

// Reads all but the log-probabilities, whose fields differ between routes, and the prompt's scores.
Generation ParseGeneration(Fields& fields, std::int32_t vocabulary_size,
                           std::int64_t default_max_tokens = kNoLimit);

// All but its stream and when it came. `policy` is that of PolicyFor. 400 context_length_exceeded
// when it can never run, with `prompt_field` as the field at fault when that is because of the
// prompt.
Result<scheduler::Request> MakeRequest(Service& service, const ServedModel& model,
                                       const Generation& generation,
                                       const std::optional<scheduler::KvPolicy>& policy,
                                       std::vector<TokenId> prompt, std::string_view prompt_field);

}  // namespace banyan::server::openai
