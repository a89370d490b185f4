// A queue and its tenants, with jobs that wait in it and a cache that has as much of their prompts
// as a test says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "radix/prefix_cache.h"
#include "scheduler/job.h"
#include "scheduler/queue.h"
#include "scheduler/tenants.h"

namespace banyan::scheduler {

struct Arrival {
  std::string tenant = {};
  std::int32_t priority = 0;
  std::int64_t cached = 0;  // at most kMostCached
};

class WaitingRoom {
 public:
  static constexpr std::int64_t kMostCached = 256;

  explicit WaitingRoom(const Options& options);
  ~WaitingRoom();

  Job& Come(const Arrival& arrival);
  // So much of its prompt is cached from now on.
  void SetCached(Job& job, std::int64_t tokens);
  // Leaves the queue but not its tenant, and comes back.
  void Remove(Job& job);
  void Push(Job& job);
  // It is finished, wherever it is.
  void Finish(Job& job);

  Job* Next();
  // Admits the next one, which costs its tenant so much.
  Job& Admit(std::int64_t tokens = 0);

  void Advance(Tick by) { now_ += by; }
  Tick now() const { return now_; }
  Queue& queue() { return queue_; }
  Tenants& tenants() { return tenants_; }
  void CheckInvariants() const;

 private:
  const Tick ageing_;
  radix::PrefixCache cache_;
  std::vector<TokenId> path_;  // cached as a whole
  Tenants tenants_;
  Queue queue_;
  std::vector<std::unique_ptr<Job>> jobs_;  // by arrival; null when finished
  Tick now_{1'000};
};

}  // namespace banyan::scheduler
