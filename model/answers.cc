#include "model/answers.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace banyan::model {

Answers::Answers(std::int32_t vocabulary_size)
    : sampler_(vocabulary_size), logits_(static_cast<std::size_t>(vocabulary_size)) {}

absl::Status Answers::Give(const Batch& batch, const LogitRow& row, StepResult& result) {
  const Sequence& sequence = batch.sequences[row.sequence];
  SequenceResult& out = result.sequences[row.sequence];
  const bool scores = row.token < sequence.scored.size();
  const bool samples = sequence.logits != Logits::kNone && row.token + 1 == sequence.tokens.size();
  absl::Status status;
  if (!AllFinite(logits_)) status = absl::InternalError("a logit is not a finite number");
  if (status.ok()) {
    if (sequence.logits == Logits::kReturnAll) {
      out.logits.insert(out.logits.end(), logits_.begin(), logits_.end());
    }
    if (scores || samples) log_probabilities_.Read(logits_);
    if (scores) Score(sequence, sequence.scored[row.token], out);
    if (samples) status = Sample(sequence, out);
  }
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      absl::StrCat("sequence ", row.sequence, ": ", status.message()));
}

void Answers::Score(const Sequence& sequence, TokenId token, SequenceResult& out) {
  ScoredToken& scored = out.scores.emplace_back();
  scored.token = token;
  scored.log_probability = log_probabilities_.Of(token);
  log_probabilities_.Top(sequence.top_logprobs, scored.top);
}

absl::Status Answers::Sample(const Sequence& sequence, SequenceResult& out) {
  const absl::StatusOr<TokenId> token = sampler_.Sample(logits_, sequence);
  if (!token.ok()) return token.status();
  out.token = *token;
  out.log_probability = log_probabilities_.Of(*token);
  log_probabilities_.Top(sequence.top_logprobs, out.top);
  return absl::OkStatus();
}

}  // namespace banyan::model
