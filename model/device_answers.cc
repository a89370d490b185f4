#include "model/device_answers.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "base/check.h"
#include "model/answers.h"
#include "model/logit_adjuster.h"
#include "model/sampler.h"

namespace banyan::model {
namespace {

// Where `more` lies in `all` once it is there.
template <class T>
kernels::ListPart Append(std::vector<T>& all, std::span<const T> more) {
  const kernels::ListPart part{static_cast<std::int32_t>(all.size()),
                               static_cast<std::int32_t>(more.size())};
  all.insert(all.end(), more.begin(), more.end());
  return part;
}

void GiveTop(const kernels::Sampled& sampled, std::size_t score, std::int32_t count,
             std::vector<TokenLogprob>& top) {
  const std::size_t first = score * kernels::ScoreRow::kMostTop;
  for (std::size_t i = first; i < first + static_cast<std::size_t>(count); ++i)
    top.push_back({sampled.top_tokens[i], sampled.top_log_probabilities[i]});
}

}  // namespace

DeviceAnswers::DeviceAnswers(std::int32_t vocabulary_size)
    : vocabulary_size_(vocabulary_size), token_uses_(vocabulary_size) {
  static_assert(kMaxTopLogprobs <= kernels::ScoreRow::kMostTop);
}

void DeviceAnswers::BeginStep() { all_draws_ = all_scores_ = 0; }

kernels::SamplingWork DeviceAnswers::Ask(const Batch& batch, std::span<const LogitRow> group) {
  draws_.clear();
  scores_.clear();
  masks_.clear();
  forbidden_.clear();
  biases_.clear();
  uses_.clear();
  for (std::size_t i = 0; i < group.size(); ++i) {
    const Sequence& sequence = batch.sequences[group[i].sequence];
    const RowWish wish = WishOf(sequence, group[i]);
    const auto row = static_cast<std::int32_t>(i);
    const std::int32_t top = TopOf(sequence);
    if (wish.scores) scores_.push_back({row, sequence.scored[group[i].token], top});
    if (!wish.samples) continue;
    if (sequence.wants_logprob)
      scores_.push_back({row, ~static_cast<std::int32_t>(draws_.size()), top});
    draws_.push_back(DrawOf(sequence, row));
  }
  const kernels::SamplingWork work{.draws = draws_,
                                   .scores = scores_,
                                   .first_draw = all_draws_,
                                   .first_score = all_scores_,
                                   .masks = masks_,
                                   .forbidden = forbidden_,
                                   .biases = biases_,
                                   .uses = uses_};
  all_draws_ += static_cast<std::int32_t>(draws_.size());
  all_scores_ += static_cast<std::int32_t>(scores_.size());
  return work;
}

kernels::SampleRow DeviceAnswers::DrawOf(const Sequence& sequence, std::int32_t row) {
  const SamplingParams& params = sequence.sampling;
  CheckParams(params);
  LogitAdjuster::Check(sequence, vocabulary_size_);
  kernels::SampleRow draw{.uniform = UniformOf(sequence),
                          .row = row,
                          .temperature = params.temperature,
                          .top_k = params.top_k,
                          .top_p = params.top_p,
                          .min_p = params.min_p,
                          .repetition = params.repetition_penalty,
                          .presence = params.presence_penalty,
                          .frequency = params.frequency_penalty,
                          .forbidden = Append(forbidden_, sequence.forbidden),
                          .biases = Append(biases_, sequence.logit_bias)};
  if (!sequence.token_mask.empty()) {
    draw.mask = static_cast<std::int32_t>(masks_.size() / sequence.token_mask.size());
    Append(masks_, sequence.token_mask);
  }
  if (!params.penalizes()) return draw;
  const std::size_t first = uses_.size();
  token_uses_.Count(sequence.context, static_cast<std::size_t>(sequence.prompt_tokens), uses_);
  draw.uses = {static_cast<std::int32_t>(first), static_cast<std::int32_t>(uses_.size() - first)};
  return draw;
}

std::int32_t DeviceAnswers::TopOf(const Sequence& sequence) const {
  return std::min(sequence.top_logprobs, vocabulary_size_);
}

absl::Status DeviceAnswers::Give(const Batch& batch, std::span<const LogitRow> rows,
                                 const kernels::Sampled& sampled, StepResult& result) const {
  std::size_t draw = 0;
  std::size_t score = 0;
  for (const LogitRow& row : rows) {
    const Sequence& sequence = batch.sequences[row.sequence];
    SequenceResult& out = result.sequences[row.sequence];
    const RowWish wish = WishOf(sequence, row);
    if (wish.scores) {
      if (!std::isfinite(sampled.log_probabilities[score])) return NotFinite(row);
      ScoredToken& scored = out.scores.emplace_back();
      scored.token = sequence.scored[row.token];
      scored.log_probability = sampled.log_probabilities[score];
      GiveTop(sampled, score++, TopOf(sequence), scored.top);
    }
    if (!wish.samples) continue;
    out.token = sampled.tokens[draw++];
    if (out.token == kernels::kNotFinite) return NotFinite(row);
    if (out.token == kernels::kNoneAllowed) return NoneAllowed(row);
    if (!sequence.wants_logprob) continue;
    out.log_probability = sampled.log_probabilities[score];
    GiveTop(sampled, score++, TopOf(sequence), out.top);
  }
  return absl::OkStatus();
}

}  // namespace banyan::model
