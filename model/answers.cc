#include "model/answers.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace banyan::model {

Answers::Answers(std::int32_t vocabulary_size)
    : sampler_(vocabulary_size), logits_(static_cast<std::size_t>(vocabulary_size)) {}

absl::Status Answers::Give(const Batch& batch, const LogitRow& row, StepResult& result) {
  const Sequence& sequence = batch.sequences[row.sequence];
  SequenceResult& out = result.sequences[row.sequence];
  if (sequence.logits == Logits::kReturnAll) {
    out.logits.insert(out.logits.end(), logits_.begin(), logits_.end());
  }
  const std::size_t count = sequence.tokens.size();
  if (row.token + 1 < count) return absl::OkStatus();
  const std::int64_t position = sequence.first_position + static_cast<std::int64_t>(count);
  const absl::StatusOr<Sampler::Draw> draw =
      sampler_.Sample(logits_, sequence.sampling, position, sequence.token_mask);
  if (!draw.ok()) {
    return absl::Status(draw.status().code(),
                        absl::StrCat("sequence ", row.sequence, ": ", draw.status().message()));
  }
  out.token = draw->token;
  out.log_probability = draw->log_probability;
  return absl::OkStatus();
}

}  // namespace banyan::model
