// Pages promised to admitted requests.
//
// A request is promised, once, all the pages it can ever need, and takes them step by step. What is
// promised and not taken stays in the tree as cache until then. Invariant:
//   cache.available_pages() >= reserved()
// It holds because only Take makes pages unavailable that were not promised to somebody else, and a
// promise is given only over pages that are available.
#pragma once

#include <cstdint>

#include "radix/prefix_cache.h"
#include "scheduler/job.h"

namespace banyan::scheduler {

class PageBudget {
 public:
  explicit PageBudget(radix::PrefixCache& cache) : cache_(cache) {}

  // Opens the job's view over what is cached of its prompt (all but the last token at most, nothing
  // when it is to be scored) and promises it the pages of all the slots it can need. False, and
  // nothing changed, when they are not to be had now; never when the job is the only one and passes
  // CheckFits.
  bool Reserve(Job& job);

  // Grows the view to hold `slots` slots, at most those reserved. It cannot fail.
  void Take(Job& job, std::int64_t slots);

  // Gives up the job's pages and what it was promised.
  void Release(Job& job, radix::PrefixCache::Tail tail);

  std::int64_t reserved() const { return reserved_; }  // promised and not taken

 private:
  bool Fits(const Job& job, const radix::PrefixCache::Preview& preview) const;

  radix::PrefixCache& cache_;
  std::int64_t reserved_ = 0;
};

}  // namespace banyan::scheduler
