// What tests ask of an engine, and what they see of it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "model/batch.h"
#include "scheduler/kv_policy.h"
#include "scheduler/token_stream.h"

namespace banyan::scheduler {

struct Ask {
  std::vector<TokenId> prompt;
  std::int64_t max_tokens = 4;
  std::int64_t min_tokens = 0;
  std::vector<TokenId> end_tokens;
  std::vector<TokenBias> logit_bias;
  std::int32_t top_logprobs = 0;
  bool score_prompt = false;
  std::optional<KvPolicy> kv_policy;
  std::string tenant;
  std::string cache_salt;
  std::int32_t priority = 0;
  SamplingParams sampling;
  std::size_t stream_capacity = 10'000;
  std::optional<Tick> submitted;  // now, when not given
};

// What a client of one request has seen, and what the observer was told of it.
struct Answer {
  Ask ask;
  bool admitted = false;
  std::int64_t cached_tokens = -1;
  std::vector<TokenId> tokens;
  std::vector<ScoredToken> scored_tokens;  // the same, with what the model said of them
  std::vector<ScoredToken> prompt_scores;
  std::vector<TokenId> sampled;  // end tokens and what was never read too
  FinishReason reason = FinishReason::kNone;
  Usage usage;
  bool reads = true;  // false: nobody takes events from the stream
  std::shared_ptr<TokenStream> stream;

  struct Observed {
    int admitted = 0;
    int first_token = 0;
    int more_tokens = 0;
    int preempted = 0;
    int finished = 0;
    std::int64_t cached_tokens = -1;
    FinishReason reason = FinishReason::kNone;
    Usage usage;
    Tick queued{-1};
    Tick first_token_after{-1};
    Tick since_last{-1};
    Tick finished_after{-1};
  } observed;

  bool finished() const { return reason != FinishReason::kNone; }
};

// One sequence of a batch, as plain numbers.
struct Chunk {
  RequestId request{};
  std::int64_t first = 0;
  std::int64_t tokens = 0;
  bool samples = false;
  friend bool operator==(const Chunk&, const Chunk&) = default;
};
void PrintTo(const Chunk& chunk, std::ostream* out);

}  // namespace banyan::scheduler
