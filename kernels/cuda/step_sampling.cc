#include "kernels/cuda/step_sampling.h"

#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

constexpr std::int64_t kScores = 2;  // of a row: the token that follows it, and the one drawn
constexpr std::int64_t kTop = ScoreRow::kMostTop;

std::size_t BytesOf(std::int64_t count, std::size_t each) {
  return static_cast<std::size_t>(count) * each;
}

template <class T>
void CopyToHost(T* to, const T* from, std::int64_t count, Stream stream) {
  cuda::CopyToHost(static_cast<void*>(to), from, BytesOf(count, sizeof(T)), stream);
}

}  // namespace

std::size_t StepSampling::AnswerBytes(std::int64_t rows) {
  return BytesOf(rows * (1 + kScores * (1 + 2 * kTop)), sizeof(float));
}

StepSampling::Answers StepSampling::AnswersIn(void* memory) const {
  auto* tokens = static_cast<std::int32_t*>(memory);
  auto* log_probabilities = reinterpret_cast<float*>(tokens + rows_);
  auto* top_tokens = reinterpret_cast<std::int32_t*>(log_probabilities + kScores * rows_);
  auto* of_top = reinterpret_cast<float*>(top_tokens + kScores * rows_ * kTop);
  return {tokens, log_probabilities, top_tokens, of_top};
}

void StepSampling::Reserve(std::int32_t rows, std::int32_t logit_rows, std::int32_t vocabulary) {
  answers_.Grow(AnswerBytes(rows));
  taken_.Grow(AnswerBytes(rows));
  rows_ = rows;
  const std::int64_t words = (std::int64_t{vocabulary} + 63) / 64;
  adjusted_.Grow(BytesOf(std::int64_t{logit_rows} * vocabulary, sizeof(float)));
  masks_.Grow(BytesOf(logit_rows * words, sizeof(std::uint64_t)));
  draws_.Grow(BytesOf(logit_rows, sizeof(SampleRow)));
  scores_.Grow(BytesOf(kScores * logit_rows, sizeof(ScoreRow)));
}

void StepSampling::Run(Stream stream, const LogitRows& logits, const SamplingWork& work) {
  const auto draws = static_cast<std::int32_t>(work.draws.size());
  const auto scores = static_cast<std::int32_t>(work.scores.size());
  Require(work.first_draw + draws <= rows_ && work.first_score + scores <= kScores * rows_,
          "Sample: more answers than there is room for");
  const Answers out = AnswersIn(answers_.as<void>());
  adjusted_.Grow(BytesOf(std::int64_t{draws} * logits.vocabulary, sizeof(float)));
  Sample(stream, logits, staging_.Upload(draws_, work.draws), draws,
         {.masks = staging_.Upload(masks_, work.masks),
          .forbidden = staging_.Upload(forbidden_, work.forbidden),
          .biases = staging_.Upload(biases_, work.biases),
          .uses = staging_.Upload(uses_, work.uses)},
         adjusted_.as<float>(), out.tokens + work.first_draw);
  const std::int64_t first_top = work.first_score * kTop;
  LogProbabilities(stream, logits, staging_.Upload(scores_, work.scores), scores,
                   out.tokens + work.first_draw,
                   {.log_probabilities = out.log_probabilities + work.first_score,
                    .top_tokens = out.top_tokens + first_top,
                    .top_log_probabilities = out.top_log_probabilities + first_top});
}

Sampled StepSampling::Take(Stream stream, std::int32_t draws, std::int32_t scores) {
  Require(draws <= rows_ && scores <= kScores * rows_, "Sampled: there are not so many answers");
  const Answers from = AnswersIn(answers_.as<void>());
  const Answers to = AnswersIn(taken_.as<void>());
  CopyToHost(to.tokens, from.tokens, draws, stream);
  CopyToHost(to.log_probabilities, from.log_probabilities, scores, stream);
  CopyToHost(to.top_tokens, from.top_tokens, scores * kTop, stream);
  CopyToHost(to.top_log_probabilities, from.top_log_probabilities, scores * kTop, stream);
  Synchronize(stream);
  const auto count = static_cast<std::size_t>(scores);
  const auto top = static_cast<std::size_t>(scores * kTop);
  return {{to.tokens, static_cast<std::size_t>(draws)},
          {to.log_probabilities, count},
          {to.top_tokens, top},
          {to.top_log_probabilities, top}};
}

}  // namespace banyan::kernels::cuda
