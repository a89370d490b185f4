#include "scheduler/batch_builder.h"

#include <algorithm>
#include <optional>

#include "base/check.h"

namespace banyan::scheduler {
namespace {

// The tokens of the prompt that follow those in [first, end), when their scores are wanted.
std::span<const TokenId> Scored(const Job& job, std::int64_t first, std::int64_t end) {
  if (!job.request.score_prompt || first < job.scored_tokens() || first >= job.prompt_tokens) {
    return {};
  }
  const auto from = static_cast<std::size_t>(first + 1);
  const auto to = static_cast<std::size_t>(std::min(end + 1, job.prompt_tokens));
  return std::span(job.tokens).subspan(from, to - from);
}

void AskForToken(const Job& job, Sequence& sequence) {
  const Request& request = job.request;
  sequence.logits = Logits::kSampleLast;
  sequence.sampling = request.sampling;
  if (request.sampling.penalizes()) sequence.context = job.tokens;
  sequence.prompt_tokens = job.prompt_tokens;
  sequence.logit_bias = request.logit_bias;
  if (job.output_tokens() < request.min_tokens) sequence.forbidden = request.end_tokens;
}

void Move(const Job& job, std::vector<PageMove>& moves) {
  const std::span<const PageId> table = job.view.page_table();
  for (std::size_t i = 0; i < job.aside->places.size(); ++i)
    moves.push_back({.page = table[i], .place = job.aside->places[i]});
}

}  // namespace

void BatchBuilder::Begin(std::uint64_t step) {
  batch_.step = step;
  batch_.forgets.clear();
  batch_.saves.clear();
  batch_.restores.clear();
  batch_.copies.clear();
  batch_.compactions.clear();
  batch_.sequences.clear();
  jobs_.clear();
  tokens_left_ = max_tokens_;
}

std::int64_t BatchBuilder::ChunkTokens(const Job& job, std::int64_t limit) {
  std::int64_t tokens = std::min(job.to_compute(), limit);
  if (job.view.tokens() < job.scored_tokens()) {
    tokens = std::min(tokens, job.scored_tokens() - job.view.tokens());
  }
  if (job.policy != nullptr) {
    const std::int64_t exact = job.exact_tokens() - job.view.tokens();
    tokens = std::min(tokens, exact > 0 ? exact : job.policy->max_chunk(job.next_slot()));
  }
  return tokens;
}

// What the job's policy makes of it.
void BatchBuilder::Keep(const Job& job, Sequence& sequence) {
  const radix::View& kept = job.survivors.is_open() ? job.survivors : job.view;
  sequence.pages = kept.page_table();
  sequence.gap = job.view.gap();
  sequence.window = job.policy->window();
  if (sequence.first_position >= job.exact_tokens()) sequence.choice = job.policy->choice();
  sequence.compacted = job.view.tokens() - job.next_slot();
  if (const auto observed = job.policy->observed(job.prompt_tokens, sequence.first_position)) {
    sequence.observation = {job.observer, observed->from, observed->by};
  }
  const std::optional<kernels::KeepRule> keep = job.compaction();
  CHECK(keep.has_value() || !job.survivors.is_open());
  if (!keep) return;
  batch_.compactions.push_back({.observer = job.observer,
                                .from = job.view.page_table(),
                                .slots = job.view.slots(),
                                .to = sequence.pages,
                                .keep = *keep});
}

void BatchBuilder::Save(const Job& job) { Move(job, batch_.saves); }

void BatchBuilder::Add(Job& job, std::int64_t tokens) {
  CHECK(1 <= tokens && tokens <= tokens_left_ && tokens <= job.to_compute() && !job.in_batch);
  CHECK(job.state == RequestState::kPrefill || job.state == RequestState::kDecode);
  const std::int64_t first = job.view.tokens();
  const std::int64_t end = first + tokens;
  if (const std::optional<PageCopy> copy = cache_.PendingCopy(job.view)) {
    batch_.copies.push_back(*copy);
  }
  if (job.aside) Move(job, batch_.restores);
  Sequence& sequence = batch_.sequences.emplace_back();
  sequence.request = job.request.id;
  // Spans into the job, which stays where it is and learns no token before the step is completed.
  sequence.tokens = std::span(job.tokens)
                        .subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(tokens));
  sequence.first_position = first;
  sequence.open_page = job.open_page;
  if (job.policy == nullptr)
    sequence.pages = job.view.page_table();
  else
    Keep(job, sequence);
  sequence.wants_logprob = job.request.wants_logprobs;
  sequence.top_logprobs = job.request.top_logprobs;
  sequence.scored = Scored(job, first, end);
  if (end == job.known_tokens() && !job.prompt_only()) AskForToken(job, sequence);

  jobs_.push_back(&job);
  job.in_batch = true;
  tokens_left_ -= tokens;
}

}  // namespace banyan::scheduler
