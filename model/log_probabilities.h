// The log-probabilities that one row of logits stands for, as the model gave them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "model/batch.h"
#include "model/logit_math.h"

namespace banyan::model {

// One row at a time; one thread at a time.
class LogProbabilities {
 public:
  // `logits` are finite, and stay until the next Read.
  void Read(std::span<const float> logits);

  float Of(TokenId token) const;

  // The `count` most probable tokens (all, where there are fewer), the first one first; the lower
  // id first among equals.
  void Top(std::int32_t count, std::vector<TokenLogprob>& top);

 private:
  std::span<const float> logits_;
  double log_sum_ = 0;  // of exp(logit), over the row
  Leaders leaders_;
};

}  // namespace banyan::model
