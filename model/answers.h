// From a row's logits to what its sequence asked for.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "model/batch.h"
#include "model/sampler.h"
#include "model/step.h"

namespace banyan::model {

class Answers {
 public:
  explicit Answers(std::int32_t vocabulary_size);

  // Where the logits of the next row are to be put.
  std::span<float> logits() { return logits_; }

  // Returns the logits in `result` where the row's sequence asks for them, and samples where it
  // ends. An error names the sequence.
  absl::Status Give(const Batch& batch, const LogitRow& row, StepResult& result);

 private:
  Sampler sampler_;
  std::vector<float> logits_;
};

}  // namespace banyan::model
