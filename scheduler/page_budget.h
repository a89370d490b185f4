// Which pages a request may take, and when.
//
// Admission promises a request the pages of all the tokens that are known of it, which it takes
// chunk by chunk; until then they serve as cache. The pages of tokens to come are not promised:
// they are taken one by one while there are any. Invariant:
//   cache.available_pages() >= reserved()
// It holds because only Open and Take make pages unavailable, and neither touches what was promised
// to somebody else. What a policy drops of a request is promised to it again as far as its known
// tokens will need it: so the pages of a request with a policy are those that the policy bounds,
// however long its prompt.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "radix/prefix_cache.h"
#include "scheduler/aside_space.h"
#include "scheduler/job.h"
#include "scheduler/numbers.h"
#include "scheduler/scheduler.h"

namespace banyan::scheduler {

class PageBudget {
 public:
  PageBudget(const Options& options, radix::PrefixCache& cache);

  // How many leading tokens of a job may come from the cache: all known ones but the last; those
  // whose scores were sent, while its prompt is being scored, because pages hold no logits.
  std::int64_t MaxCached(const Job& job) const;

  // What the cache would give the job now.
  struct Offer {
    NamespaceId name_space{};
    std::int64_t max_cached = 0;
    radix::PrefixCache::Preview preview;
  };
  Offer Ask(const Job& job);

  // Opens the job's view over what was offered, promises it the pages of its known tokens, and
  // gives it an open page: there is one for each job that may run. False, and nothing changed, when
  // they are not to be had, or when that would leave less than the headroom of those that run
  // (`running`, without the job) and of itself. Never when nothing runs and the job passes
  // CheckFits.
  bool Admit(Job& job, const Offer& offer, std::span<Job* const> running);

  // Grows the view to hold `tokens` more: from what was promised, else from what nobody was
  // promised. Where the view is compacted first, and has never been, job.survivors is opened and
  // grown instead. False, and nothing changed, when that is not enough; never within the known
  // tokens that were promised.
  bool Take(Job& job, std::int64_t tokens);

  // A step has compacted the job's view, down to so many slots.
  void Compacted(Job& job, std::int64_t slots);

  // Gives up what the job's policy says that nothing sees any more. Its view is private.
  void DropUnseen(Job& job);

  // The job is preempted, and `step` will save the pages of its view to places that job.aside then
  // names. False where there is nothing that is not exact, no room, or it is there already; and
  // where the last page is not in the pool until it is full.
  bool PutAside(Job& job, std::uint64_t step);
  // A step has brought back what the job has put aside, if it had.
  void BroughtBack(Job& job);
  // What it has put aside is not wanted any more. The next step forgets what is in the places that
  // were lost since the last TakeLost.
  void LoseAside(Job& job);
  std::vector<std::int32_t> TakeLost() { return aside_.TakeLost(); }

  // Gives up the job's pages, its open page too, and what it was promised.
  void Release(Job& job, radix::PrefixCache::Tail tail);

  std::int64_t reserved() const { return reserved_; }  // promised and not taken
  std::int64_t pages_aside() const { return aside_.pages(); }

 private:
  std::int64_t Pages(std::int64_t slots) const;
  std::int64_t Wanted(const Job& job, std::int64_t pages, PageGap gap) const;
  std::int64_t PagesOfSurvivors(const Job& job) const;
  std::int64_t Headroom(const Job& job) const;
  bool OpenAside(Job& job, const Offer& offer, std::int64_t headroom);
  void TakeOpenPage(Job& job);
  void FreeObserver(Job& job);

  const Options options_;
  radix::PrefixCache& cache_;
  std::int64_t reserved_ = 0;
  Numbers open_pages_;
  Numbers observers_;
  AsideSpace aside_;
};

}  // namespace banyan::scheduler
