// From the rows of a step to what is asked of a backend that samples by itself, and from its
// answers to what their sequences asked for. As Answers, which has the logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "kernels/sampling.h"
#include "model/batch.h"
#include "model/step.h"
#include "model/token_uses.h"

namespace banyan::model {

class DeviceAnswers {
 public:
  explicit DeviceAnswers(std::int32_t vocabulary_size);

  void BeginStep();
  // What the step's next rows are asked for, none of which is returned itself; row i of the logits
  // is group[i]. Valid until the next call.
  kernels::SamplingWork Ask(const Batch& batch, std::span<const LogitRow> group);
  // Since the step began.
  std::int32_t draws() const { return all_draws_; }
  std::int32_t scores() const { return all_scores_; }

  // Of all rows that were asked for. As Answers::Give for one after the other.
  absl::Status Give(const Batch& batch, std::span<const LogitRow> rows,
                    const kernels::Sampled& sampled, StepResult& result) const;

 private:
  kernels::SampleRow DrawOf(const Sequence& sequence, std::int32_t row);
  // How many alternatives it gets.
  std::int32_t TopOf(const Sequence& sequence) const;

  std::int32_t vocabulary_size_;
  TokenUses token_uses_;
  std::int32_t all_draws_ = 0;
  std::int32_t all_scores_ = 0;

  // Of the group.
  std::vector<kernels::SampleRow> draws_;
  std::vector<kernels::ScoreRow> scores_;
  std::vector<std::uint64_t> masks_;
  std::vector<TokenId> forbidden_;
  std::vector<TokenBias> biases_;
  std::vector<kernels::TokenUse> uses_;
};

}  // namespace banyan::model
