// One step of work, from the scheduler to a model and back: plain data, no behaviour.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/page_gap.h"
#include "kernels/key_window.h"
#include "kernels/kv_compaction.h"
#include "kernels/page_choice.h"
#include "kernels/sampling.h"

namespace banyan {

// How a token is drawn from logits (docs/sampling.md). The draw is a function of the logits, these,
// the Sequence's context, biases and masks, and the position alone.
struct SamplingParams {
  float temperature = 1.0F;         // 0 is greedy; 0..2
  std::int32_t top_k = 0;           // the most tokens to draw from; 0: all
  float top_p = 1.0F;               // 0 < top_p <= 1
  float min_p = 0.0F;               // 0..1
  float repetition_penalty = 1.0F;  // > 0; over the tokens of prompt and answer
  float presence_penalty = 0.0F;    // -2..2; over the tokens of the answer
  float frequency_penalty = 0.0F;   // -2..2; per time that the answer has a token
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;  // index among the answers to one request

  bool penalizes() const {
    return repetition_penalty != 1.0F || presence_penalty != 0.0F || frequency_penalty != 0.0F;
  }
};

using kernels::TokenBias;

inline constexpr std::int32_t kMaxTopLogprobs = 20;

// Natural logarithms of probabilities under the logits as the model gave them.
struct TokenLogprob {
  TokenId token = -1;
  float log_probability = 0;
};
struct ScoredToken {
  TokenId token = -1;
  float log_probability = 0;
  std::vector<TokenLogprob> top{};  // the most probable tokens at its place, the first one first
};

enum class Logits : std::uint8_t {
  kNone,        // more of the prompt follows in a later step
  kSampleLast,  // sample the token after the last one
  kReturnAll,   // kSampleLast, and return the logits of every token (tests, evaluation)
};

// A run of consecutive tokens of one request. The KV of tokens[i] is written to slot
// (first_slot() + i) of the view that `pages` describes, before any token attends to it.
struct Sequence {
  RequestId request{};
  std::span<const TokenId> tokens{};  // at least one
  std::int64_t first_position = 0;
  // Covers slots 0 .. first_slot() + tokens.size() - 1; slot s is number s % page_size of
  // pages[gap.place(s / page_size)].
  std::span<const PageId> pages{};
  // Pages that hold no key that a token of the sequence sees, nor the token before the first. Where
  // there are some, the window cuts what the first one sees.
  PageGap gap{};
  // Its number among the sequences that go on: from 0, and no other's until it ends or begins anew.
  // Where pages are sealed when they are full, the model keeps under it what is not full yet.
  std::int32_t open_page = 0;
  // Which keys its tokens see, on a model whose Facts::every_layer_sees_all.
  kernels::KeyWindow window{};
  // Slots that compaction gave up before: the token at position p is in slot p - compacted. As
  // observations on a model that compacts (Facts), and where there is no window.
  std::int64_t compacted = 0;
  kernels::Observation observation{};
  // Which pages its tokens read; on such a model too, where there is no window and nothing was
  // compacted or is observed.
  kernels::PageChoice choice{};
  Logits logits = Logits::kNone;
  SamplingParams sampling{};
  // All tokens before the one that is drawn, the prompt's first; empty unless sampling.penalizes().
  std::span<const TokenId> context{};
  std::int64_t prompt_tokens = 0;           // how many of `context` are the prompt's
  std::span<const TokenBias> logit_bias{};  // no token twice
  std::span<const TokenId> forbidden{};     // never drawn, as end tokens before min_tokens
  // Whether the drawn token's log-probability is wanted; else it stays 0.
  bool wants_logprob = true;
  // How many alternatives are reported with the drawn and with each scored token; 0..20, and 0
  // where a token is drawn whose log-probability is not wanted.
  std::int32_t top_logprobs = 0;
  // The tokens whose log-probabilities are wanted: scored[i] follows tokens[i]. Empty: none.
  std::span<const TokenId> scored{};
  // One bit per token id, a set bit allows it; empty allows all.
  std::span<const std::uint64_t> token_mask{};

  std::int64_t first_slot() const { return first_position - compacted; }
  // Whether its logits are asked for nothing but which one is the greatest.
  bool is_plainly_greedy() const {
    return logits == Logits::kSampleLast && sampling.temperature == 0 && !sampling.penalizes() &&
           logit_bias.empty() && forbidden.empty() && token_mask.empty() && scored.empty() &&
           !wants_logprob;
  }
};

// The bytes of a page go to a place outside the pool, or come back from there. Places are numbered
// by who makes the batch.
struct PageMove {
  PageId page = 0;
  std::int32_t place = 0;
};

// The spans stay valid until the step was completed.
struct Batch {
  std::uint64_t step = 0;
  // Places that nobody comes back for: they are emptied before all else.
  std::vector<std::int32_t> forgets{};
  std::vector<PageMove> saves{};     // made before what follows
  std::vector<PageMove> restores{};  // then these: each place was saved to, and is forgotten
  std::vector<PageCopy> copies{};    // made before the sequences are read
  // Made behind the copies, in order, before the sequences are read.
  std::vector<kernels::KvCompaction> compactions{};
  std::vector<Sequence> sequences{};

  bool empty() const {
    return sequences.empty() && forgets.empty() && saves.empty() && restores.empty() &&
           copies.empty() && compactions.empty();
  }
};

// What became of one Sequence of the batch, at the same index.
struct SequenceResult {
  TokenId token = -1;                 // -1 unless sampled
  float log_probability = 0;          // of `token`, where it is wanted
  std::vector<TokenLogprob> top{};    // as in ScoredToken
  std::vector<ScoredToken> scores{};  // of Sequence::scored
  std::vector<float> logits{};        // [tokens, vocabulary] with kReturnAll, else empty
};

struct StepResult {
  std::uint64_t step = 0;
  bool failed = false;  // nothing was sampled; what the step wrote must not be shared
  std::vector<SequenceResult> sequences{};
};

}  // namespace banyan
