// One step of work, from the scheduler to a model and back: plain data, no behaviour.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace banyan {

// How a token is drawn from logits. The draw is a function of (logits, params, position) alone.
struct SamplingParams {
  float temperature = 1.0F;  // 0 is greedy; 0..2
  float top_p = 1.0F;        // 0 < top_p <= 1
  std::uint64_t seed = 0;
  std::uint32_t choice = 0;  // index among the answers to one request
};

enum class Logits : std::uint8_t {
  kNone,        // more of the prompt follows in a later step
  kSampleLast,  // sample the token after the last one
  kReturnAll,   // kSampleLast, and return the logits of every token (tests, evaluation)
};

// A run of consecutive tokens of one request. The KV of tokens[i] is written to slot
// (first_position + i) of the view that `pages` describes, before any token attends to it.
struct Sequence {
  RequestId request{};
  std::span<const TokenId> tokens{};  // at least one
  std::int64_t first_position = 0;
  // Covers positions 0 .. first_position + tokens.size() - 1; position p is in slot p % page_size
  // of pages[p / page_size].
  std::span<const PageId> pages{};
  Logits logits = Logits::kNone;
  SamplingParams sampling{};
  // One bit per token id, a set bit allows it; empty allows all.
  std::span<const std::uint64_t> token_mask{};
};

// The spans stay valid until the step was completed.
struct Batch {
  std::uint64_t step = 0;
  std::vector<PageCopy> copies{};  // made before the sequences are read
  std::vector<Sequence> sequences{};

  bool empty() const { return sequences.empty() && copies.empty(); }
};

// What became of one Sequence of the batch, at the same index.
struct SequenceResult {
  TokenId token = -1;           // -1 unless sampled
  float log_probability = 0;    // natural logarithm, of `token` under the unfiltered logits
  std::vector<float> logits{};  // [tokens, vocabulary] with kReturnAll, else empty
};

struct StepResult {
  std::uint64_t step = 0;
  bool failed = false;  // nothing was sampled; what the step wrote must not be shared
  std::vector<SequenceResult> sequences{};
};

}  // namespace banyan
