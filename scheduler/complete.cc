// What came back from a step: publishing, counting, sending, stopping, and handing over.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "scheduler/impl.h"

namespace banyan::scheduler {

void Scheduler::Impl::Complete(const StepResult& result, Tick now) {
  CHECK(in_flight_ && result.step == step_);
  const Batch& batch = batch_.batch();
  CHECK(result.failed || result.sequences.size() == batch.sequences.size());
  latest_ = now;
  cache_.SetTime(now);
  in_flight_ = false;
  ++counters_.steps;
  if (result.failed) ++counters_.failed_steps;

  for (Job* job : batch_.jobs()) {
    job->in_batch = false;
    // Before anything is published or freed: a source may be another job's page.
    if (!result.failed && cache_.PendingCopy(job->view)) cache_.CopyDone(job->view);
    if (!result.failed) pages_.BroughtBack(*job);
  }
  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    Job& job = *batch_.jobs()[i];
    if (!result.failed) {
      CompleteJob(job, batch.sequences[i], result.sequences[i], now);
      continue;
    }
    // Nobody knows what the step wrote. What was published before it stays.
    const bool cancelled = job.state == RequestState::kEnding;
    Finish(job, cancelled ? job.end_reason : FinishReason::kFailed, Tail::kDiscard, now);
  }
  if (result.failed) ForgetUnsaved();
  batch_.Begin(step_);  // its spans named jobs that may be gone
}

// What the step was to save is computed again.
void Scheduler::Impl::ForgetUnsaved() {
  for (const auto& [id, job] : jobs_) {
    if (job->aside && job->aside->step == step_) pages_.LoseAside(*job);
  }
}

void Scheduler::Impl::CompleteJob(Job& job, const Sequence& sequence, const SequenceResult& result,
                                  Tick now) {
  const bool is_exact = sequence.first_position < job.exact_tokens();
  if (sequence.first_slot() < job.view.slots()) pages_.Compacted(job, sequence.first_slot());
  cache_.Append(job.view, sequence.tokens, is_exact ? Exactness::kExact : Exactness::kInexact);
  Count(job, sequence);
  if (job.state == RequestState::kEnding) {
    Finish(job, job.end_reason, Tail::kAdopt, now);
    return;
  }
  if (!is_exact) pages_.DropUnseen(job);
  if (!job.followers.empty()) {
    const bool publishes = cache_.Publishes(job.view);
    Release(publishes ? rendezvous_.TakeServed(job) : rendezvous_.TakeAll(job), now);
  }
  CHECK(result.scores.size() == sequence.scored.size());
  if (!result.scores.empty() && !SendScores(job, result, now)) return;
  if (sequence.logits != Logits::kNone) {
    AcceptToken(job, result, now);
  } else if (job.prompt_only() && job.view.tokens() == job.prompt_tokens) {
    Finish(job, FinishReason::kLength, Tail::kAdopt, now);
  }
}

// Each token of a request counts as computed once; the rest is what a preemption cost.
void Scheduler::Impl::Count(Job& job, const Sequence& sequence) {
  const std::int64_t first = sequence.first_position;
  const std::int64_t end = first + static_cast<std::int64_t>(sequence.tokens.size());
  const std::int64_t fresh = std::max(first, job.computed_tokens);  // from here on
  counters_.recomputed_tokens += std::min(end, fresh) - first;
  counters_.computed_prompt_tokens +=
      std::max<std::int64_t>(std::min(end, job.prompt_tokens) - fresh, 0);
  const std::int64_t dropped = job.dropped_tokens();
  job.computed_tokens = std::max(job.computed_tokens, end);
  if (job.policy == nullptr) return;
  counters_.dropped_tokens[static_cast<std::size_t>(job.policy->type())] +=
      job.dropped_tokens() - dropped;
}

bool Scheduler::Impl::SendScores(Job& job, const SequenceResult& result, Tick now) {
  StreamEvent event;
  event.kind = StreamEvent::Kind::kPromptScores;
  event.scores = result.scores;
  if (job.request.stream->Push(std::move(event))) return true;
  Finish(job, FinishReason::kSlowReader, Tail::kAdopt, now);
  return false;
}

void Scheduler::Impl::AcceptToken(Job& job, const SequenceResult& result, Tick now) {
  CHECK(result.token >= 0);
  if (job.state == RequestState::kPrefill) {
    job.MoveTo(RequestState::kDecode);  // what it computed was paid for at admission
  } else {
    tenants_.Charge(*job.tenant, 1);
  }
  job.tokens.push_back(result.token);
  if (!job.first_token) {
    job.first_token = now;
    if (observer_ != nullptr) {
      observer_->OnFirstToken(job.request, Since(job.request.submitted, now));
    }
  } else if (observer_ != nullptr) {
    observer_->OnToken(job.request, now - job.latest_token);
  }
  job.latest_token = now;

  const std::vector<TokenId>& ends = job.request.end_tokens;
  if (std::binary_search(ends.begin(), ends.end(), result.token)) {
    Finish(job, FinishReason::kStop, Tail::kAdopt, now);
    return;
  }
  StreamEvent event;
  event.kind = StreamEvent::Kind::kToken;
  event.token = result.token;
  event.log_probability = result.log_probability;
  event.top = result.top;
  if (!job.request.stream->Push(std::move(event))) {
    Finish(job, FinishReason::kSlowReader, Tail::kAdopt, now);
  } else if (job.output_tokens() == job.max_output) {
    Finish(job, FinishReason::kLength, Tail::kAdopt, now);
  }
}

}  // namespace banyan::scheduler
