// The jobs that wait, and which of them is next.
//
// Order, lexicographic:
//   1. aged priority (priority.h), high first
//   2. the tenant whose turn it is (tenants.h)
//   3. the length of prompt that is cached, long first
//   4. arrival
// Those of the same aged priority and tenant are a class. The oldest of a class may be passed over,
// by a younger one of the class that is admitted before it, at most max_passes times; then it is
// the next of its class. So a job with k older ones in its class is admitted within
// (k + 1) * (max_passes + 1) admissions of its class.
//
// Push, Remove, Rematch, Next and Admit are O(log jobs), amortized: a job is promoted at most
// kMaxPriority times in its life. Thread safety: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "base/clock.h"
#include "scheduler/job.h"
#include "scheduler/scheduler.h"
#include "scheduler/tenants.h"

namespace banyan::scheduler {

class Queue {
 public:
  Queue(const Options& options, Tenants& tenants);  // `tenants` outlives the queue
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // It is not in, and has its tenant. What is cached of it is taken from its watch.
  void Push(Job& job, Tick now);
  // It is in: cancelled, or it follows now. Its passes are kept.
  void Remove(Job& job);
  // It is in, and its watch's length changed.
  void Rematch(Job& job);

  // Who is to be admitted next; null when nobody waits. The same answer when asked again.
  Job* Next(Tick now);
  // It is the one that Next gave for `now`, and leaves; a pass is counted if it was not the oldest
  // of its class.
  void Admit(Job& job, Tick now);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::int64_t passes() const { return passes_; }  // since start
  // OK, or kInternal with the first violated invariant; `now` as in the calls before. O(jobs).
  absl::Status CheckInvariants(Tick now) const;

 private:
  struct LongestFirst {
    bool operator()(const Job* a, const Job* b) const;
  };
  struct OldestFirst {
    bool operator()(const Job* a, const Job* b) const { return a->arrival < b->arrival; }
  };
  // Both hold the same jobs, at least one.
  struct Class {
    std::set<Job*, LongestFirst> by_length;
    std::set<Job*, OldestFirst> by_age;
  };
  using Level = absl::flat_hash_map<Tenant*, Class>;

  void Promote(Tick now);
  void Insert(Job& job);  // into the class, and the promotions, that its place says
  void Erase(Job& job);
  Job& NextOf(const Class& waiting) const;
  Tick PromotionOf(const Job& job) const;  // when its place's priority is too low
  absl::Status CheckClass(const Class& waiting, std::int32_t priority, const Tenant* tenant,
                          Tick now) const;

  const std::int64_t max_passes_;
  const Tick ageing_;
  Tenants& tenants_;
  std::array<Level, kMaxPriority + 1> levels_;
  // By when they are promoted next, then by arrival; without those that never are.
  std::map<std::pair<Tick, std::uint64_t>, Job*> promotions_;
  std::size_t size_ = 0;
  std::int64_t passes_ = 0;
};

}  // namespace banyan::scheduler
