#include "model/answers.h"

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace banyan::model {
namespace {

absl::Status In(const LogitRow& row, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("sequence ", row.sequence, ": ", status.message()));
}

}  // namespace

RowWish WishOf(const Sequence& sequence, const LogitRow& row) {
  return {.scores = row.token < sequence.scored.size(),
          .samples = sequence.logits != Logits::kNone && row.token + 1 == sequence.tokens.size()};
}

absl::Status NotFinite(const LogitRow& row) {
  return In(row, absl::InternalError("a logit is not a finite number"));
}

absl::Status NoneAllowed(const LogitRow& row) { return In(row, NoTokenMayFollow()); }

Answers::Answers(std::int32_t vocabulary_size)
    : sampler_(vocabulary_size), logits_(static_cast<std::size_t>(vocabulary_size)) {}

absl::Status Answers::Give(const Batch& batch, const LogitRow& row, StepResult& result) {
  const Sequence& sequence = batch.sequences[row.sequence];
  SequenceResult& out = result.sequences[row.sequence];
  if (!AllFinite(logits_)) return NotFinite(row);
  if (sequence.logits == Logits::kReturnAll) {
    out.logits.insert(out.logits.end(), logits_.begin(), logits_.end());
  }
  const RowWish wish = WishOf(sequence, row);
  if (wish.scores || (wish.samples && sequence.wants_logprob)) log_probabilities_.Read(logits_);
  if (wish.scores) Score(sequence, sequence.scored[row.token], out);
  return wish.samples ? Sample(sequence, row, out) : absl::OkStatus();
}

absl::Status Answers::GiveGreatest(TokenId token, const LogitRow& row, StepResult& result) {
  if (token < 0) return NotFinite(row);
  result.sequences[row.sequence].token = token;
  return absl::OkStatus();
}

void Answers::Score(const Sequence& sequence, TokenId token, SequenceResult& out) {
  ScoredToken& scored = out.scores.emplace_back();
  scored.token = token;
  scored.log_probability = log_probabilities_.Of(token);
  log_probabilities_.Top(sequence.top_logprobs, scored.top);
}

absl::Status Answers::Sample(const Sequence& sequence, const LogitRow& row, SequenceResult& out) {
  const absl::StatusOr<TokenId> token = sampler_.Sample(logits_, sequence);
  if (!token.ok()) return In(row, token.status());
  out.token = *token;
  if (!sequence.wants_logprob) return absl::OkStatus();
  out.log_probability = log_probabilities_.Of(*token);
  log_probabilities_.Top(sequence.top_logprobs, out.top);
  return absl::OkStatus();
}

}  // namespace banyan::model
