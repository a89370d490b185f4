#include "tests/scheduler/waiting_room.h"

#include <gtest/gtest.h>

#include <numeric>
#include <span>

#include "scheduler/priority.h"

namespace banyan::scheduler {

WaitingRoom::WaitingRoom(const Options& options)
    : ageing_(options.ageing),
      cache_({.page_size = 16, .pages = kMostCached / 16}),
      path_(kMostCached),
      tenants_(options.quantum),
      queue_(options, tenants_) {
  std::iota(path_.begin(), path_.end(), 0);
  radix::View view = cache_.Open(cache_.OpenNamespace(""), path_, 0);
  EXPECT_TRUE(cache_.Grow(view, kMostCached / 16));
  cache_.Append(view, path_);
  cache_.Close(view, radix::PrefixCache::Tail::kAdopt);
}

WaitingRoom::~WaitingRoom() {
  CheckInvariants();
  for (const std::unique_ptr<Job>& job : jobs_) {
    if (job != nullptr) cache_.StopWatch(job->watch);
  }
}

Job& WaitingRoom::Come(const Arrival& arrival) {
  jobs_.push_back(std::make_unique<Job>());
  Job& job = *jobs_.back();
  job.arrival = jobs_.size() - 1;
  job.request.id = RequestId{job.arrival};
  job.request.priority = arrival.priority;
  job.due = DueTime(arrival.priority, now_, ageing_);
  job.tenant = tenants_.Join(arrival.tenant);
  SetCached(job, arrival.cached);
  Push(job);
  return job;
}

void WaitingRoom::SetCached(Job& job, std::int64_t tokens) {
  cache_.StopWatch(job.watch);
  cache_.StartWatch(job.watch, cache_.OpenNamespace(""),
                    std::span(path_).first(static_cast<std::size_t>(tokens)));
  EXPECT_EQ(job.watch.cached_tokens(), tokens);
  if (job.place.is_in) queue_.Rematch(job);
}

void WaitingRoom::Remove(Job& job) { queue_.Remove(job); }
void WaitingRoom::Push(Job& job) { queue_.Push(job, now_); }

void WaitingRoom::Finish(Job& job) {
  if (job.place.is_in) queue_.Remove(job);
  cache_.StopWatch(job.watch);
  tenants_.Leave(job.tenant);
  jobs_[job.arrival] = nullptr;
}

Job* WaitingRoom::Next() { return queue_.Next(now_); }

Job& WaitingRoom::Admit(std::int64_t tokens) {
  Job* job = Next();
  EXPECT_NE(job, nullptr);
  queue_.Admit(*job, now_);
  EXPECT_FALSE(job->place.is_in);
  tenants_.Charge(*job->tenant, tokens);
  return *job;
}

void WaitingRoom::CheckInvariants() const {
  const absl::Status status = queue_.CheckInvariants(now_);
  EXPECT_TRUE(status.ok()) << status;
}

}  // namespace banyan::scheduler
