#include "scheduler/aside_space.h"

#include "base/check.h"

namespace banyan::scheduler {

bool AsideSpace::Put(Job& job, std::int64_t pages, std::uint64_t step) {
  CHECK(!job.aside);
  if (places_.out() + pages > max_pages_ || jobs_ == kMaxJobsAside) return false;
  ++jobs_;
  Aside& to = job.aside.emplace();
  to.step = step;
  to.tokens = job.view.tokens();
  to.slots = job.view.slots();
  to.gap = job.view.gap();
  for (std::int64_t page = 0; page < pages; ++page) to.places.push_back(places_.Take());
  return true;
}

void AsideSpace::Forget(Job& job) {
  for (const std::int32_t place : job.aside->places) places_.GiveBack(place);
  job.aside.reset();
  --jobs_;
}

void AsideSpace::Lose(Job& job) {
  lost_.insert(lost_.end(), job.aside->places.begin(), job.aside->places.end());
  Forget(job);
}

}  // namespace banyan::scheduler
