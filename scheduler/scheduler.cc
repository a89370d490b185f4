#include "scheduler/scheduler.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "scheduler/fit.h"
#include "scheduler/impl.h"
#include "scheduler/priority.h"

namespace banyan::scheduler {
namespace {

Usage UsageOf(const Job& job, FinishReason reason, Tick now) {
  Usage usage;
  usage.prompt_tokens = job.prompt_tokens;
  usage.cached_tokens = job.cached_tokens;
  usage.output_tokens = std::clamp<std::int64_t>(
      job.end_output_tokens.value_or(job.output_tokens()), 0, job.output_tokens());
  if (reason == FinishReason::kLength) usage.limit = job.limit;
  usage.preemptions = job.preemptions;
  if (job.policy != nullptr) {
    usage.dropped_tokens = job.dropped_tokens();
    usage.kept_tokens = job.computed_tokens - usage.dropped_tokens;
    usage.unread_tokens = job.policy->unread_tokens(job.prompt_tokens, job.computed_tokens);
  }
  usage.queued = Since(job.request.submitted, job.admitted.value_or(now));
  if (job.admitted) usage.prefill = Since(*job.admitted, job.first_token.value_or(now));
  if (job.first_token) usage.decode = Since(*job.first_token, now);
  return usage;
}

}  // namespace

Scheduler::Impl::Impl(const Options& options, radix::PrefixCache& cache, Observer* observer)
    : options_(options),
      cache_(cache),
      observer_(observer),
      pages_(options, cache),
      batch_(options.max_batch_tokens, cache),
      tenants_(options.quantum),
      queue_(options, tenants_) {
  CHECK(options.max_running >= 1);
  CHECK(options.max_batch_tokens > options.max_running);
  CHECK(options.mixed_prefill_tokens >= 1);
  CHECK(options.context_length >= 1);
  CHECK(options.max_passes >= 0 && options.headroom_tokens >= 1 && options.max_pages_aside >= 0);
  CHECK(options.ageing > Tick(0) && options.ageing <= kMaxAgeing);
}

Scheduler::Impl::~Impl() {
  std::vector<Job*> left;
  for (const auto& [id, job] : jobs_) left.push_back(job.get());
  std::sort(left.begin(), left.end(), [](Job* a, Job* b) { return a->arrival < b->arrival; });
  for (Job* job : left) {
    job->in_batch = false;  // a step that is still in flight will never be looked at
    const bool cancelled = job->state == RequestState::kEnding;
    Finish(*job, cancelled ? job->end_reason : FinishReason::kShutdown, Tail::kAdopt, latest_);
  }
}

void Scheduler::Impl::Submit(Request request, Tick now) {
  CHECK(!request.prompt.empty() && request.max_tokens >= 0 && request.min_tokens >= 0 &&
        request.stream != nullptr);
  CHECK(0 <= request.priority && request.priority <= kMaxPriority);
  CHECK(!request.kv_policy || !request.score_prompt);
  std::sort(request.end_tokens.begin(), request.end_tokens.end());
  latest_ = now;
  auto owned = std::make_unique<Job>();
  Job& job = *owned;
  job.tokens = std::exchange(request.prompt, {});
  job.request = std::move(request);
  job.prompt_tokens = job.known_tokens();
  job.arrival = arrivals_++;
  job.due = DueTime(job.request.priority, now, options_.ageing);
  job.tenant = tenants_.Join(job.request.tenant);
  CHECK(jobs_.emplace(job.request.id, std::move(owned)).second);

  // A max_tokens over the context only makes the answer end there; asking for it is refused, if at
  // all, before the request comes here.
  const std::optional<KvPolicy>& policy = job.request.kv_policy;
  if (!CheckFits(options_, cache_.options(), job.prompt_tokens, -1, policy).ok()) {
    Finish(job, FinishReason::kRefused, Tail::kDiscard, now);
    return;
  }
  if (policy) {
    job.policy = MakePolicy(*policy, cache_.options().page_size, options_.max_batch_tokens);
  }
  const OutputBound bound = MaxOutput(options_, cache_.options(), job.prompt_tokens,
                                      job.request.max_tokens, job.policy.get());
  job.max_output = bound.tokens;
  job.limit = bound.limit;
  Wait(job, now);
}

void Scheduler::Impl::Wait(Job& job, Tick now) {
  CHECK(job.state == RequestState::kWaiting);
  if (const std::int64_t limit = pages_.MaxCached(job); limit > 0) {
    const NamespaceId name_space =
        cache_.OpenNamespace(NamespaceName(job.request.tenant, job.request.cache_salt));
    cache_.StartWatch(job.watch, name_space,
                      std::span(job.tokens).first(static_cast<std::size_t>(limit)));
  }
  queue_.Push(job, now);
}

void Scheduler::Impl::Release(const std::vector<Job*>& followers, Tick now) {
  for (Job* follower : followers) {
    follower->MoveTo(RequestState::kWaiting);
    Wait(*follower, now);
  }
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
    // What the step in flight computes of its prompt is published; no more will come.
    Release(rendezvous_.TakeAll(job), now);
    return;
  }
  Finish(job, reason, Tail::kAdopt, now);
}

void Scheduler::Impl::Finish(Job& job, FinishReason reason, Tail tail, Tick now) {
  CHECK(!job.in_batch);
  pages_.LoseAside(job);
  std::vector<Job*> followers;
  if (job.state == RequestState::kFollowing) {
    rendezvous_.Leave(job);
  } else if (job.is_running()) {
    followers = rendezvous_.TakeAll(job);
    pages_.Release(job, tail);
    running_.erase(std::find(running_.begin(), running_.end(), &job));
  } else if (job.place.is_in) {
    queue_.Remove(job);
  }
  cache_.StopWatch(job.watch);
  tenants_.Leave(job.tenant);
  if (!job.admitted) ++left_;
  job.MoveTo(RequestState::kFinished);
  const auto node = jobs_.extract(job.request.id);  // alive until the end of this function
  Release(followers, now);
  const Usage usage = UsageOf(job, reason, now);
  // The stream last: who has read the end finds everything else told.
  if (observer_ != nullptr) {
    observer_->OnFinished(job.request, reason, usage, Since(job.request.submitted, now));
  }
  job.request.stream->Finish(reason, usage);
}

std::int32_t Scheduler::Impl::Priority(const Job& job, Tick now) const {
  return AgedPriority(Rendezvous::Due(job), now, options_.ageing);
}

Stats Scheduler::Impl::stats() const {
  Stats stats = counters_;
  stats.running = static_cast<std::int64_t>(running_.size());
  stats.waiting = static_cast<std::int64_t>(jobs_.size()) - stats.running;
  stats.following = rendezvous_.following();
  stats.reserved_pages = pages_.reserved();
  stats.passes = queue_.passes();
  return stats;
}

std::optional<RequestStatus> Scheduler::Impl::Inspect(RequestId request, Tick now) const {
  const auto found = jobs_.find(request);
  if (found == jobs_.end()) return std::nullopt;
  const Job& job = *found->second;
  RequestStatus status;
  status.state = job.state;
  status.aged_priority = Priority(job, now);
  status.passes = job.place.passes;
  status.tokens = job.view.tokens();
  status.deficit = job.tenant->deficit();
  if (job.producer != nullptr) status.producer = job.producer->request.id;
  return status;
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
