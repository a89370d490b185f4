// What stands behind scheduler.h. Each way into it is a file: scheduler.cc (submitting, cancelling,
// ending), next.cc (what a step runs), complete.cc (what came back), audit.cc (what must hold).
//
// Who has a job: jobs_ owns all of them. By its state it is also in the queue (waiting), among its
// producer's followers (following), or in running_ (prefill, decode, ending).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "scheduler/batch_builder.h"
#include "scheduler/job.h"
#include "scheduler/page_budget.h"
#include "scheduler/queue.h"
#include "scheduler/rendezvous.h"
#include "scheduler/scheduler.h"
#include "scheduler/tenants.h"

namespace banyan::scheduler {

// Requests are stamped by other threads, so that `to` may be a little before `from`.
inline Tick Since(Tick from, Tick to) { return std::max(Tick(0), to - from); }

class Scheduler::Impl {
 public:
  Impl(const Options& options, radix::PrefixCache& cache, Observer* observer);
  ~Impl();

  // As in scheduler.h.
  void Submit(Request request, Tick now);
  void Cancel(const Cancellation& cancellation, Tick now);
  const Batch& Next(Tick now);
  void Complete(const StepResult& result, Tick now);
  bool idle() const { return jobs_.empty(); }
  std::size_t TakeLeft() { return std::exchange(left_, 0); }
  Stats stats() const;
  std::optional<RequestStatus> Inspect(RequestId request, Tick now) const;
  absl::Status CheckInvariants() const;

 private:
  using Tail = radix::PrefixCache::Tail;
  using Exactness = radix::PrefixCache::Exactness;

  // scheduler.cc
  void Wait(Job& job, Tick now);  // into the queue; its state says so
  void Release(const std::vector<Job*>& followers, Tick now);
  // Gives up what the job holds, tells the observer and the stream, and deletes it.
  void Finish(Job& job, FinishReason reason, Tail tail, Tick now);
  // With what waiting added, and what its followers have.
  std::int32_t Priority(const Job& job, Tick now) const;

  // next.cc
  void Rank(Tick now);
  void RunDecodes(Tick now);
  void LimitPrompts();
  bool MakeRoom(Job& job, Tick now);
  void Preempt(Job& job, Tick now);
  void AdmitAll(Tick now);
  void Admit(Job& job, Tick now);  // its view is open
  void RunPrefills(Tick now);

  // complete.cc
  void ForgetUnsaved();
  void CompleteJob(Job& job, const Sequence& sequence, const SequenceResult& result, Tick now);
  void Count(Job& job, const Sequence& sequence);
  // False when the stream was full: then the job is finished.
  bool SendScores(Job& job, const SequenceResult& result, Tick now);
  void AcceptToken(Job& job, const SequenceResult& result, Tick now);

  const Options options_;
  radix::PrefixCache& cache_;
  Observer* const observer_;
  PageBudget pages_;
  BatchBuilder batch_;
  Tenants tenants_;
  Queue queue_;
  Rendezvous rendezvous_;

  absl::flat_hash_map<RequestId, std::unique_ptr<Job>> jobs_;
  // In the order of the latest Rank (priority, then arrival), newcomers behind. The last one is the
  // first to be preempted.
  std::vector<Job*> running_;

  // Kept for their memory.
  std::vector<std::pair<std::int32_t, Job*>> ranked_;  // of Rank: with the priority
  struct Prefill {
    std::int32_t priority = 0;
    std::int64_t deficit = 0;
    Job* job = nullptr;
  };
  std::vector<Prefill> prefills_;  // of RunPrefills

  bool in_flight_ = false;
  std::uint64_t arrivals_ = 0;
  std::uint64_t step_ = 0;
  std::size_t left_ = 0;
  Stats counters_;  // what counts since the start
  Tick latest_{0};  // the time last told
};

}  // namespace banyan::scheduler
