// What a step runs: decodes first, then admissions, then prompts.
//
//   budget   |d d d d|----------------- prompts ------------------|
//                    |    first in order          | the shortest  |
//                                                   a quarter, so that it need not wait for a giant
//
// Beside decodes prompts get less (mixed_prefill_tokens), so that answers flow evenly.
#include <algorithm>
#include <limits>

#include "base/check.h"
#include "scheduler/impl.h"
#include "scheduler/priority.h"

namespace banyan::scheduler {
namespace {

// The share of a step's prompt tokens that the shortest prefill gets, when it is not the first.
constexpr std::int64_t kShortestShare = 4;  // one in four

// What the running prefills still want of a step's budget.
struct Demand {
  std::int64_t tokens = 0;                                           // of all
  std::int64_t shortest = std::numeric_limits<std::int64_t>::max();  // of one
  bool squeezed = false;  // somebody was admitted for the shortest one's share

  void Add(const Job& job) {
    tokens +=
        job.policy == nullptr ? job.to_compute() : BatchBuilder::ChunkTokens(job, job.to_compute());
    shortest = std::min(shortest, job.to_compute());
  }
  // Whether a prompt with so many tokens to compute would be computed, in part, in a step that has
  // `left` tokens. Admitting one earlier would match it before others have published what it needs.
  bool LeavesRoomFor(std::int64_t to_compute, std::int64_t left) const {
    return left > tokens || (!squeezed && left >= kShortestShare && to_compute < shortest);
  }
};

}  // namespace

const Batch& Scheduler::Impl::Next(Tick now) {
  CHECK(!in_flight_);
  latest_ = now;
  cache_.SetTime(now);
  batch_.Begin(step_ + 1);
  batch_.Forget(pages_.TakeLost());
  const std::int64_t preemptions = counters_.preemptions;
  Rank(now);
  RunDecodes(now);
  // Where pages were short a moment ago, a newcomer would only be the next victim.
  if (counters_.preemptions == preemptions) AdmitAll(now);
  RunPrefills(now);
  in_flight_ = !batch_.batch().empty();
  if (in_flight_) ++step_;
  CHECK(!batch_.jobs().empty() || jobs_.empty());  // somebody always advances
  return batch_.batch();
}

void Scheduler::Impl::Rank(Tick now) {
  ranked_.clear();
  for (Job* job : running_) ranked_.emplace_back(Priority(*job, now), job);
  std::sort(ranked_.begin(), ranked_.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second->arrival < b.second->arrival;
  });
  std::transform(ranked_.begin(), ranked_.end(), running_.begin(),
                 [](const auto& ranked) { return ranked.second; });
}

// Those that rank last may be preempted on the way: never one that is in the batch already.
void Scheduler::Impl::RunDecodes(Tick now) {
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Job& job = *running_[i];
    if (job.state == RequestState::kDecode && MakeRoom(job, now)) batch_.Add(job, 1);
  }
  LimitPrompts();
}

// What prompts take of a step delays each that decodes and advances those that could: where several
// could for each that does, it is several times as much.
void Scheduler::Impl::LimitPrompts() {
  const auto decodes = static_cast<std::int64_t>(batch_.batch().sequences.size());
  if (decodes == 0) return;
  const std::int64_t others = static_cast<std::int64_t>(jobs_.size()) - decodes;
  const std::int64_t could_run = std::min(others, options_.max_running - decodes);
  const std::int64_t for_each = (could_run + decodes - 1) / decodes;
  batch_.Limit(options_.mixed_prefill_tokens * std::max(for_each, std::int64_t{1}));
}

// False when the job itself had to go.
bool Scheduler::Impl::MakeRoom(Job& job, Tick now) {
  while (!pages_.Take(job, 1)) {
    CHECK(running_.size() > 1);  // alone it has the whole pool, and ends before it needs more
    Job& last = *running_.back();
    Preempt(last, now);
    if (&last == &job) return false;
  }
  return true;
}

// What it computed stays in the tree, so that it resumes with a hit, or with what is left of it;
// what is its own is put aside.
void Scheduler::Impl::Preempt(Job& job, Tick now) {
  CHECK(!job.in_batch && running_.back() == &job);
  running_.pop_back();
  const std::vector<Job*> followers = rendezvous_.TakeAll(job);
  if (pages_.PutAside(job, step_ + 1)) batch_.Save(job);
  pages_.Release(job, Tail::kAdopt);
  job.MoveTo(RequestState::kWaiting);
  ++job.preemptions;
  ++counters_.preemptions;
  if (observer_ != nullptr) observer_->OnPreempted(job.request, job.output_tokens());
  Wait(job, now);
  Release(followers, now);
}

void Scheduler::Impl::AdmitAll(Tick now) {
  while (radix::Watch* watch = cache_.TakeChanged()) {
    queue_.Rematch(*static_cast<Job*>(watch->owner()));
  }
  Demand demand;
  for (const Job* job : running_) {
    if (job->state == RequestState::kPrefill) demand.Add(*job);
  }
  while (running_.size() < static_cast<std::size_t>(options_.max_running)) {
    Job* job = queue_.Next(now);
    if (job == nullptr) return;
    const PageBudget::Offer offer = pages_.Ask(*job);
    const Rendezvous::Lead lead =
        Rendezvous::Find(*job, offer.max_cached, offer.preview.tokens, running_, cache_);
    if (lead.producer != nullptr) {
      queue_.Remove(*job);
      cache_.StopWatch(job->watch);
      rendezvous_.Follow(*job, lead);
      continue;
    }
    const std::int64_t to_compute = job->known_tokens() - offer.preview.tokens;
    const std::int64_t left = batch_.tokens_left();
    if (!demand.LeavesRoomFor(to_compute, left)) return;
    if (!pages_.Admit(*job, offer, running_)) return;
    demand.squeezed = left <= demand.tokens;
    demand.Add(*job);
    Admit(*job, now);
  }
}

void Scheduler::Impl::Admit(Job& job, Tick now) {
  queue_.Admit(job, now);
  cache_.StopWatch(job.watch);
  tenants_.Charge(*job.tenant, job.to_compute());
  job.MoveTo(RequestState::kPrefill);
  running_.push_back(&job);
  job.computed_tokens = std::max(job.computed_tokens, job.view.tokens());
  if (job.admitted) return;  // it resumes

  job.admitted = now;
  job.cached_tokens = job.view.tokens();
  ++left_;
  if (observer_ != nullptr) {
    observer_->OnAdmitted(job.request, {.prompt_tokens = job.prompt_tokens,
                                        .cached_tokens = job.cached_tokens,
                                        .queued = Since(job.request.submitted, now)});
  }
  StreamEvent event;
  event.kind = StreamEvent::Kind::kAdmitted;
  event.cached_tokens = job.cached_tokens;
  if (!job.request.stream->Push(std::move(event))) {
    Finish(job, FinishReason::kSlowReader, Tail::kDiscard, now);
  }
}

void Scheduler::Impl::RunPrefills(Tick now) {
  prefills_.clear();
  for (Job* job : running_) {
    if (job->state != RequestState::kPrefill) continue;
    prefills_.push_back({Priority(*job, now), job->tenant->deficit(), job});
  }
  if (prefills_.empty()) return;
  std::sort(prefills_.begin(), prefills_.end(), [](const Prefill& a, const Prefill& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    if (a.deficit != b.deficit) return a.deficit > b.deficit;
    return a.job->arrival < b.job->arrival;
  });
  const auto shortest = std::min_element(
      prefills_.begin(), prefills_.end(),
      [](const Prefill& a, const Prefill& b) { return a.job->to_compute() < b.job->to_compute(); });
  std::int64_t kept = 0;  // for the shortest
  if (shortest != prefills_.begin()) {
    kept = std::min(shortest->job->to_compute(), batch_.tokens_left() / kShortestShare);
  }
  for (auto it = prefills_.begin(); it != prefills_.end(); ++it) {
    if (it == shortest) kept = 0;
    Job& job = *it->job;
    const std::int64_t tokens = BatchBuilder::ChunkTokens(job, batch_.tokens_left() - kept);
    if (tokens <= 0) continue;
    if (!pages_.Take(job, tokens)) {
      // A page that it gave back is still copied from, by one that runs: it waits for that.
      CHECK(job.policy != nullptr);
      continue;
    }
    batch_.Add(job, tokens);
  }
}

}  // namespace banyan::scheduler
