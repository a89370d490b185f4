#include "scheduler/batch_builder.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace banyan::scheduler {
namespace {

// Spans into the job, which stays where it is.
std::span<const TokenId> NextTokens(const Job& job, std::int32_t budget) {
  if (job.state == RequestState::kDecode) return {&job.last_token, 1};
  const std::span<const TokenId> rest =
      std::span(job.request.prompt).subspan(static_cast<std::size_t>(job.view.tokens()));
  return rest.first(std::min(rest.size(), static_cast<std::size_t>(budget)));
}

// The tokens of the prompt that follow those in [first, end), when they are to be scored.
std::span<const TokenId> Scored(const Job& job, std::int64_t first, std::int64_t end) {
  if (!job.request.score_prompt || job.state != RequestState::kPrefill) return {};
  const auto from = static_cast<std::size_t>(first + 1);
  const auto to = static_cast<std::size_t>(std::min(end + 1, job.prompt_tokens()));
  return std::span(job.request.prompt).subspan(from, to - from);
}

void AskForToken(const Job& job, Sequence& sequence) {
  const Request& request = job.request;
  sequence.logits = Logits::kSampleLast;
  sequence.sampling = request.sampling;
  sequence.context = job.context;
  sequence.prompt_tokens = job.prompt_tokens();
  sequence.logit_bias = request.logit_bias;
  if (job.output_tokens < request.min_tokens) sequence.forbidden = request.end_tokens;
}

}  // namespace

void BatchBuilder::Begin(std::uint64_t step) {
  batch_.step = step;
  batch_.copies.clear();
  batch_.sequences.clear();
  jobs_.clear();
  tokens_left_ = max_tokens_;
}

void BatchBuilder::Add(Job& job) {
  CHECK(tokens_left_ > 0 && !job.in_batch);
  CHECK(job.state == RequestState::kPrefill || job.state == RequestState::kDecode);
  const std::span<const TokenId> tokens = NextTokens(job, tokens_left_);
  const std::int64_t first = job.view.tokens();
  const std::int64_t end = first + static_cast<std::int64_t>(tokens.size());

  pages_.Take(job, end);
  if (const std::optional<PageCopy> copy = cache_.PendingCopy(job.view)) {
    batch_.copies.push_back(*copy);
  }
  Sequence& sequence = batch_.sequences.emplace_back();
  sequence.request = job.request.id;
  sequence.tokens = tokens;
  sequence.first_position = first;
  sequence.pages = job.view.page_table();
  sequence.top_logprobs = job.request.top_logprobs;
  sequence.scored = Scored(job, first, end);
  if (end >= job.prompt_tokens() && !job.prompt_only()) AskForToken(job, sequence);

  jobs_.push_back(&job);
  job.in_batch = true;
  tokens_left_ -= static_cast<std::int32_t>(tokens.size());
}

}  // namespace banyan::scheduler
