// Requests that need the same uncached prefix compute it once: one that runs produces it, the
// others follow.
//
//   producer   |== computed ==|-- will be computed ----------------|
//   follower   |== computed ==|-- the same --|  its own
//                                            ^ follow_until: here it is served
//
// A follower waits and holds nothing: its producer's lease pins all that was computed so far. It is
// served once the producer has `follow_until` tokens; then it is admitted like any other, with a
// hit up to there, and others may follow it in turn, so that diverging prompts form a tree. When
// its producer stops for whatever reason, it waits again, and whoever of the followers is admitted
// first goes on where the producer was. So nobody waits for what does not come.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.h"
#include "radix/prefix_cache.h"
#include "scheduler/job.h"

namespace banyan::scheduler {

class Rendezvous {
 public:
  // Of the prefills among `running`, the one that will compute the most of the job's first `limit`
  // tokens, as the cache shares them, if that is more than the `cached` ones that it would get now.
  // O(running), and the comparison of tokens.
  struct Lead {
    Job* producer = nullptr;  // null: there is none
    std::int64_t until = 0;
  };
  static Lead Find(const Job& job, std::int64_t limit, std::int64_t cached,
                   std::span<Job* const> running, const radix::PrefixCache& cache);

  void Follow(Job& job, const Lead& lead);
  void Leave(Job& follower);

  // The due time that a job ranks by: its own, or that of its most urgent follower.
  static Tick Due(const Job& job);

  // Those of the producer's followers that have what they waited for, or all; they have left.
  std::vector<Job*> TakeServed(Job& producer);
  std::vector<Job*> TakeAll(Job& producer);

  std::int64_t following() const { return following_; }

 private:
  std::int64_t following_ = 0;
};

}  // namespace banyan::scheduler
