#include "scheduler/scheduler.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "base/check.h"
#include "scheduler/batch_builder.h"
#include "scheduler/fit.h"
#include "scheduler/job.h"
#include "scheduler/page_budget.h"

namespace banyan::scheduler {
namespace {

using Tail = radix::PrefixCache::Tail;

// Requests are stamped by other threads, so that `to` may be a little before `from`.
Tick Since(Tick from, Tick to) { return std::max(Tick(0), to - from); }

Usage UsageOf(const Job& job, Tick now) {
  Usage usage;
  usage.prompt_tokens = job.prompt_tokens();
  usage.cached_tokens = job.cached_tokens;
  usage.output_tokens = std::clamp<std::int64_t>(job.end_output_tokens.value_or(job.output_tokens),
                                                 0, job.output_tokens);
  usage.queued = Since(job.request.submitted, job.admitted.value_or(now));
  if (job.admitted) usage.prefill = Since(*job.admitted, job.first_token.value_or(now));
  if (job.first_token) usage.decode = Since(*job.first_token, now);
  return usage;
}

}  // namespace

class Scheduler::Impl {
 public:
  Impl(const Options& options, radix::PrefixCache& cache, Observer* observer);
  ~Impl();

  void Submit(Request request, Tick now);
  void Cancel(const Cancellation& cancellation, Tick now);
  const Batch& Next(Tick now);
  void Complete(const StepResult& result, Tick now);

  bool idle() const { return jobs_.empty(); }
  std::size_t TakeLeft() { return std::exchange(left_, 0); }
  Stats stats() const;
  std::optional<RequestStatus> Inspect(RequestId request, Tick) const {
    const auto found = jobs_.find(request);
    if (found == jobs_.end()) return std::nullopt;
    const Job& job = *found->second;
    return RequestStatus{.state = job.state,
                         .aged_priority = job.request.priority,
                         .passes = 0,
                         .tokens = job.view.tokens(),
                         .producer = std::nullopt};
  }
  absl::Status CheckInvariants() const { return absl::OkStatus(); }

 private:
  // The head of the queue, admitted; null when nobody can be admitted now.
  Job* AdmitHead(Tick now);
  void CompleteJob(Job& job, const Sequence& sequence, const SequenceResult& result, Tick now);
  // False when the stream was full: then the job is finished.
  bool SendScores(Job& job, const SequenceResult& result, Tick now);
  void AcceptToken(Job& job, const SequenceResult& result, Tick now);
  // Gives up what the job holds, tells the observer and the stream, and deletes it.
  void Finish(Job& job, FinishReason reason, Tail tail, Tick now);

  const Options options_;
  radix::PrefixCache& cache_;
  Observer* const observer_;
  PageBudget pages_;
  BatchBuilder batch_;

  absl::flat_hash_map<RequestId, std::unique_ptr<Job>> jobs_;  // each is in one of the two queues
  JobQueue waiting_;
  JobQueue running_;

  // The head did not fit, and nothing that could help has happened since: no running request ended
  // or finished its prefill. Spares a match of its prompt in every step.
  bool head_must_wait_ = false;
  bool in_flight_ = false;
  std::uint64_t arrivals_ = 0;
  std::uint64_t step_ = 0;
  std::size_t left_ = 0;
  std::int64_t computed_prompt_tokens_ = 0;
  std::int64_t steps_ = 0;
  std::int64_t failed_steps_ = 0;
  Tick latest_{0};  // the time last told
};

Scheduler::Impl::Impl(const Options& options, radix::PrefixCache& cache, Observer* observer)
    : options_(options),
      cache_(cache),
      observer_(observer),
      pages_(cache),
      batch_(options.max_batch_tokens, cache, pages_) {
  CHECK(options.max_running >= 1);
  CHECK(options.max_batch_tokens > options.max_running);
  CHECK(options.context_length >= 1);
}

Scheduler::Impl::~Impl() {
  for (JobQueue* queue : {&running_, &waiting_}) {
    while (!queue->empty()) {
      Job& job = **queue->begin();
      job.in_batch = false;  // a step that is still in flight will never be looked at
      const bool cancelled = job.state == RequestState::kEnding;
      Finish(job, cancelled ? job.end_reason : FinishReason::kShutdown, Tail::kAdopt, latest_);
    }
  }
}

void Scheduler::Impl::Submit(Request request, Tick now) {
  CHECK(!request.prompt.empty() && request.max_tokens >= 0 && request.min_tokens >= 0 &&
        request.stream != nullptr);
  std::sort(request.end_tokens.begin(), request.end_tokens.end());
  latest_ = now;
  auto owned = std::make_unique<Job>();
  Job& job = *owned;
  job.request = std::move(request);
  job.arrival = arrivals_++;
  CHECK(jobs_.emplace(job.request.id, std::move(owned)).second);
  waiting_.insert(&job);

  // A max_tokens over the context only makes the answer end there; asking for it is refused, if at
  // all, before the request comes here.
  if (!CheckFits(options_, cache_.options(), job.prompt_tokens(), -1).ok()) {
    Finish(job, FinishReason::kRefused, Tail::kDiscard, now);
    return;
  }
  job.max_output =
      MaxOutput(options_, cache_.options(), job.prompt_tokens(), job.request.max_tokens);
}

void Scheduler::Impl::Cancel(const Cancellation& cancellation, Tick now) {
  latest_ = now;
  const auto found = jobs_.find(cancellation.request);
  if (found == jobs_.end()) return;
  Job& job = *found->second;
  if (job.state == RequestState::kEnding) return;  // the first cancel counts

  FinishReason reason = FinishReason::kCancelled;
  if (cancellation.reason == CancelReason::kStopString) {
    reason = FinishReason::kStop;
    job.end_output_tokens = cancellation.output_tokens;
  }
  if (job.in_batch) {
    job.end_reason = reason;
    job.MoveTo(RequestState::kEnding);
    return;
  }
  Finish(job, reason, Tail::kAdopt, now);
}

const Batch& Scheduler::Impl::Next(Tick now) {
  CHECK(!in_flight_);
  latest_ = now;
  cache_.SetTime(now);
  batch_.Begin(step_ + 1);
  for (Job* job : running_) {
    if (job->state == RequestState::kDecode) batch_.Add(*job);
  }
  for (Job* job : running_) {
    if (batch_.tokens_left() == 0) break;
    if (job->state == RequestState::kPrefill) batch_.Add(*job);
  }
  // Only what runs in this very step is admitted: the later a prompt is matched, the more of it
  // others have published.
  while (batch_.tokens_left() > 0) {
    Job* job = AdmitHead(now);
    if (job == nullptr) break;
    batch_.Add(*job);
  }
  in_flight_ = !batch_.batch().empty();
  if (in_flight_) ++step_;
  return batch_.batch();
}

Job* Scheduler::Impl::AdmitHead(Tick now) {
  while (!waiting_.empty()) {
    if (running_.size() >= static_cast<std::size_t>(options_.max_running)) return nullptr;
    if (head_must_wait_ && !running_.empty()) return nullptr;
    Job& job = **waiting_.begin();
    head_must_wait_ = !pages_.Reserve(job);
    if (head_must_wait_) return nullptr;

    job.MoveTo(RequestState::kPrefill);
    waiting_.erase(&job);
    ++left_;
    running_.insert(&job);
    job.admitted = now;
    if (job.request.sampling.penalizes()) job.context = job.request.prompt;
    if (observer_ != nullptr) {
      observer_->OnAdmitted(job.request, {.prompt_tokens = job.prompt_tokens(),
                                          .cached_tokens = job.cached_tokens,
                                          .queued = Since(job.request.submitted, now)});
    }
    StreamEvent event;
    event.kind = StreamEvent::Kind::kAdmitted;
    event.cached_tokens = job.cached_tokens;
    if (job.request.stream->Push(std::move(event))) return &job;
    Finish(job, FinishReason::kSlowReader, Tail::kDiscard, now);
  }
  return nullptr;
}

void Scheduler::Impl::Complete(const StepResult& result, Tick now) {
  CHECK(in_flight_ && result.step == step_);
  const Batch& batch = batch_.batch();
  CHECK(result.failed || result.sequences.size() == batch.sequences.size());
  latest_ = now;
  cache_.SetTime(now);
  in_flight_ = false;
  ++steps_;
  if (result.failed) ++failed_steps_;

  for (std::size_t i = 0; i < batch.sequences.size(); ++i) {
    Job& job = *batch_.jobs()[i];
    job.in_batch = false;
    if (!result.failed) {
      CompleteJob(job, batch.sequences[i], result.sequences[i], now);
      continue;
    }
    // Nobody knows what the step wrote. What was published before it stays.
    const bool cancelled = job.state == RequestState::kEnding;
    Finish(job, cancelled ? job.end_reason : FinishReason::kFailed, Tail::kDiscard, now);
  }
  batch_.Begin(step_);  // its spans named jobs that may be gone
}

void Scheduler::Impl::CompleteJob(Job& job, const Sequence& sequence, const SequenceResult& result,
                                  Tick now) {
  if (cache_.PendingCopy(job.view)) cache_.CopyDone(job.view);
  if (sequence.first_position < job.prompt_tokens()) {
    computed_prompt_tokens_ += static_cast<std::int64_t>(sequence.tokens.size());
  }
  cache_.Append(job.view, sequence.tokens);
  if (job.state == RequestState::kEnding) {
    Finish(job, job.end_reason, Tail::kAdopt, now);
    return;
  }
  CHECK(result.scores.size() == sequence.scored.size());
  if (!result.scores.empty() && !SendScores(job, result, now)) return;
  if (sequence.logits != Logits::kNone) {
    AcceptToken(job, result, now);
  } else if (job.prompt_only() && job.view.tokens() == job.prompt_tokens()) {
    Finish(job, FinishReason::kLength, Tail::kAdopt, now);
  }
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
  ++job.output_tokens;
  job.last_token = result.token;
  if (job.request.sampling.penalizes()) job.context.push_back(result.token);
  if (job.state == RequestState::kPrefill) {
    job.MoveTo(RequestState::kDecode);
    job.first_token = now;
    head_must_wait_ = false;  // the whole prompt is published, the head may share it
    if (observer_ != nullptr) {
      observer_->OnFirstToken(job.request, Since(job.request.submitted, now));
    }
  } else if (observer_ != nullptr) {
    observer_->OnToken(job.request, Since(job.latest_token, now));
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
  } else if (job.output_tokens == job.max_output) {
    Finish(job, FinishReason::kLength, Tail::kAdopt, now);
  }
}

void Scheduler::Impl::Finish(Job& job, FinishReason reason, Tail tail, Tick now) {
  CHECK(!job.in_batch);
  if (job.state == RequestState::kWaiting) {
    if (*waiting_.begin() == &job) head_must_wait_ = false;  // there is another head now
    waiting_.erase(&job);
    ++left_;
  } else {
    pages_.Release(job, tail);
    running_.erase(&job);
    head_must_wait_ = false;
  }
  job.MoveTo(RequestState::kFinished);
  const auto node = jobs_.extract(job.request.id);  // alive until the end of this function
  const Usage usage = UsageOf(job, now);
  // The stream last: who has read the end finds everything else told.
  if (observer_ != nullptr) {
    observer_->OnFinished(job.request, reason, usage, Since(job.request.submitted, now));
  }
  job.request.stream->Finish(reason, usage);
}

Stats Scheduler::Impl::stats() const {
  Stats stats;
  stats.waiting = static_cast<std::int64_t>(waiting_.size());
  stats.running = static_cast<std::int64_t>(running_.size());
  stats.reserved_pages = pages_.reserved();
  stats.computed_prompt_tokens = computed_prompt_tokens_;
  stats.steps = steps_;
  stats.failed_steps = failed_steps_;
  return stats;
}

Scheduler::Scheduler(const Options& options, radix::PrefixCache& cache, Observer* observer)
    : impl_(std::make_unique<Impl>(options, cache, observer)) {}
Scheduler::~Scheduler() = default;

void Scheduler::Submit(Request request, Tick now) { impl_->Submit(std::move(request), now); }
void Scheduler::Cancel(const Cancellation& cancellation, Tick now) {
  impl_->Cancel(cancellation, now);
}
const Batch& Scheduler::Next(Tick now) { return impl_->Next(now); }
void Scheduler::Complete(const StepResult& result, Tick now) { impl_->Complete(result, now); }
bool Scheduler::idle() const { return impl_->idle(); }
std::size_t Scheduler::TakeLeft() { return impl_->TakeLeft(); }
Stats Scheduler::stats() const { return impl_->stats(); }
std::optional<RequestStatus> Scheduler::Inspect(RequestId request, Tick now) const {
  return impl_->Inspect(request, now);
}
absl::Status Scheduler::CheckInvariants() const { return impl_->CheckInvariants(); }

}  // namespace banyan::scheduler
