// From a row's logits to what its sequence asked for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/batch.h"
#include "model/log_probabilities.h"
#include "model/sampler.h"
#include "model/step.h"

namespace banyan::model {

// What a row's sequence asks of it, its logits themselves aside.
struct RowWish {
  bool scores = false;  // the token that follows in the prompt
  bool samples = false;
};
RowWish WishOf(const Sequence& sequence, const LogitRow& row);

// Why there is no answer; both name the sequence.
absl::Status NotFinite(const LogitRow& row);    // kInternal
absl::Status NoneAllowed(const LogitRow& row);  // kInvalidArgument

class Answers {
 public:
  explicit Answers(std::int32_t vocabulary_size);

  // Where the logits of the next row are to be put.
  std::span<float> logits() { return logits_; }

  // Returns the logits in `result` where the row's sequence asks for them, scores the token that
  // follows where it is among those scored, and samples where the sequence ends. Errors: NotFinite
  // when a logit is not, NoneAllowed when no token may be drawn.
  absl::Status Give(const Batch& batch, const LogitRow& row, StepResult& result);
  // The same of a row whose sequence is_plainly_greedy(), from the greatest of its logits; -1 says
  // that one is not finite.
  static absl::Status GiveGreatest(TokenId token, const LogitRow& row, StepResult& result);

 private:
  absl::Status Sample(const Sequence& sequence, const LogitRow& row, SequenceResult& out);
  void Score(const Sequence& sequence, TokenId token, SequenceResult& out);

  Sampler sampler_;
  LogProbabilities log_probabilities_;
  std::vector<float> logits_;
};

}  // namespace banyan::model
