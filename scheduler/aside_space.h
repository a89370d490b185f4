// Where preempted requests with policies keep what they had in pages of their own until they run
// again: places, each for the bytes of a page, which the model has beside its pool.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "scheduler/job.h"
#include "scheduler/numbers.h"

namespace banyan::scheduler {

// Requests that may have put something aside at once: with those that run, each has an observer.
inline constexpr std::int32_t kMaxJobsAside = kernels::Observation::kMaxObservers / 2;

class AsideSpace {
 public:
  explicit AsideSpace(std::int64_t max_pages) : max_pages_(max_pages) {}

  // `step` will save the pages of the job's view, which are so many, to places that job.aside then
  // names. False, and nothing changed, when there is no room.
  bool Put(Job& job, std::int64_t pages, std::uint64_t step);
  // What the job has put aside is back in its view: its places are free.
  void Forget(Job& job);
  // It is not wanted any more: so are they, and what is in them is to be forgotten.
  void Lose(Job& job);
  // Those since the last call.
  std::vector<std::int32_t> TakeLost() { return std::exchange(lost_, {}); }

  std::int64_t pages() const { return places_.out(); }

 private:
  const std::int64_t max_pages_;
  Numbers places_;
  std::vector<std::int32_t> lost_;
  std::int32_t jobs_ = 0;
};

}  // namespace banyan::scheduler
