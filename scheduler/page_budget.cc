#include "scheduler/page_budget.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "scheduler/fit.h"

namespace banyan::scheduler {

using radix::PrefixCache;

PageBudget::PageBudget(const Options& options, radix::PrefixCache& cache)
    : options_(options), cache_(cache), aside_(options.max_pages_aside) {}

std::int64_t PageBudget::MaxCached(const Job& job) const {
  if (options_.prefix_caching == PrefixCaching::kOff) return 0;
  const bool scoring = job.request.score_prompt && job.scored_tokens() < job.prompt_tokens;
  return scoring ? job.scored_tokens() : job.max_cached();
}

PageBudget::Offer PageBudget::Ask(const Job& job) {
  Offer offer;
  offer.name_space =
      cache_.OpenNamespace(NamespaceName(job.request.tenant, job.request.cache_salt));
  if (job.aside) {  // nothing of it is wanted of the tree
    offer.preview.tokens = job.aside->tokens;
    return offer;
  }
  offer.max_cached = MaxCached(job);
  offer.preview = cache_.PreviewOpen(offer.name_space, job.tokens, offer.max_cached);
  return offer;
}

bool PageBudget::Admit(Job& job, const Offer& offer, std::span<Job* const> running) {
  std::int64_t headroom = 0;
  if (!running.empty()) {
    headroom = Headroom(job);
    for (const Job* other : running) headroom += Headroom(*other);
  }
  if (job.aside) return OpenAside(job, offer, headroom);
  const auto fits = [&](const PrefixCache::Preview& preview) {
    return cache_.available_pages() - preview.pinned_pages >=
           reserved_ + Wanted(job, preview.leased_pages, {}) + headroom;
  };
  std::int64_t max_cached = offer.max_cached;
  if (!fits(offer.preview)) {
    // A copy-on-write pins its source on top of the pages of the request, which may be the one page
    // too many. Whole pages alone never take more than the request needs.
    const std::int64_t part = offer.preview.tokens % cache_.options().page_size;
    if (part == 0) return false;
    max_cached = offer.preview.tokens - part;
    if (!fits(cache_.PreviewOpen(offer.name_space, job.tokens, max_cached))) return false;
  }
  job.view = cache_.Open(offer.name_space, job.tokens, max_cached);
  CHECK(job.view.tokens() < job.known_tokens());
  TakeOpenPage(job);
  job.reserved_pages = Wanted(job, job.view.leased_pages(), {});
  reserved_ += job.reserved_pages;
  CHECK(cache_.available_pages() >= reserved_);
  if (job.policy != nullptr) job.observer = observers_.Take();
  return true;
}

// A view of its own for what it has put aside. The next step that computes its tokens brings it
// back.
bool PageBudget::OpenAside(Job& job, const Offer& offer, std::int64_t headroom) {
  const Aside& aside = *job.aside;
  const std::int64_t pages = std::ssize(aside.places);
  const bool was_compacted = aside.slots < aside.tokens;
  const std::int64_t more = was_compacted ? std::max<std::int64_t>(PagesOfSurvivors(job) - pages, 0)
                                          : Wanted(job, pages, aside.gap);
  if (cache_.available_pages() < reserved_ + pages + more + headroom) return false;
  job.view = cache_.OpenPrivate(offer.name_space);
  CHECK(cache_.Grow(job.view, static_cast<std::int32_t>(pages)));
  cache_.Restore(job.view, aside.tokens, aside.slots, aside.gap);
  TakeOpenPage(job);
  job.reserved_pages = more;
  reserved_ += more;
  return true;
}

void PageBudget::TakeOpenPage(Job& job) {
  CHECK(job.open_page < 0);
  job.open_page = open_pages_.Take();
  CHECK(job.open_page < options_.max_running);
}

bool PageBudget::PutAside(Job& job, std::uint64_t step) {
  const radix::View& view = job.view;
  if (job.aside || job.policy == nullptr || view.tokens() <= job.exact_tokens()) return false;
  if (cache_.options().sharing == radix::Sharing::kPages) return false;
  return aside_.Put(job, Pages(view.slots()) - view.gap().dropped, step);
}

void PageBudget::BroughtBack(Job& job) {
  if (job.aside) aside_.Forget(job);
}

void PageBudget::LoseAside(Job& job) {
  if (!job.aside) return;
  aside_.Lose(job);
  if (!job.is_running()) FreeObserver(job);
}

void PageBudget::FreeObserver(Job& job) {
  if (job.observer == kernels::Observation::kNobody) return;
  observers_.GiveBack(std::exchange(job.observer, kernels::Observation::kNobody));
}

bool PageBudget::Take(Job& job, std::int64_t tokens) {
  const bool moves = job.compaction().has_value() && !job.was_compacted();
  std::int64_t has = 0;
  if (!moves)
    has = static_cast<std::int64_t>(job.view.page_table().size()) + job.view.gap().dropped;
  const std::int64_t more = Pages(job.next_slot() + tokens) - has;
  if (more <= 0) return true;
  // What was promised to the survivors is for them alone.
  const std::int64_t held = moves || job.was_compacted() ? 0 : PagesOfSurvivors(job);
  const std::int64_t promised = std::clamp<std::int64_t>(job.reserved_pages - held, 0, more);
  if (cache_.available_pages() - (reserved_ - promised) < more) return false;
  if (moves) {
    job.survivors = cache_.OpenPrivate(
        cache_.OpenNamespace(NamespaceName(job.request.tenant, job.request.cache_salt)));
  }
  CHECK(cache_.Grow(moves ? job.survivors : job.view, static_cast<std::int32_t>(more)));
  job.reserved_pages -= promised;
  reserved_ -= promised;
  return true;
}

// What it was exactly stays in the tree.
void PageBudget::Compacted(Job& job, std::int64_t slots) {
  const std::int64_t tokens = job.view.tokens();
  if (!job.survivors.is_open()) {
    cache_.Compact(job.view, tokens, slots);
    return;
  }
  cache_.Compact(job.survivors, tokens, slots);
  cache_.Close(job.view, PrefixCache::Tail::kAdopt);
  job.view = std::move(job.survivors);
}

void PageBudget::DropUnseen(Job& job) {
  const Policy::Unseen unseen = job.policy->unseen(job.view.tokens());
  if (unseen.pages() == 0) return;
  const std::int64_t before = cache_.available_pages();
  cache_.Drop(job.view, unseen.front, unseen.until);
  // A page that a copy still reads is not to be had yet.
  const std::int64_t gained = cache_.available_pages() - before;
  const auto pages = static_cast<std::int64_t>(job.view.page_table().size());
  const std::int64_t lacks = Wanted(job, pages, job.view.gap()) - job.reserved_pages;
  const std::int64_t more = std::clamp<std::int64_t>(lacks, 0, gained);
  job.reserved_pages += more;
  reserved_ += more;
  CHECK(cache_.available_pages() >= reserved_);
}

void PageBudget::Release(Job& job, PrefixCache::Tail tail) {
  reserved_ -= job.reserved_pages;
  job.reserved_pages = 0;
  CHECK(reserved_ >= 0);
  if (!job.aside) FreeObserver(job);
  if (job.survivors.is_open()) cache_.Close(job.survivors, PrefixCache::Tail::kDiscard);
  cache_.Close(job.view, tail);
  open_pages_.GiveBack(std::exchange(job.open_page, -1));
}

std::int64_t PageBudget::Pages(std::int64_t slots) const {
  return PagesFor(slots, cache_.options().page_size);
}

// What a job whose view names `pages` pages, with that gap, is still to take for its known tokens:
// with a policy never more than what it may hold at once.
std::int64_t PageBudget::Wanted(const Job& job, std::int64_t pages, PageGap gap) const {
  const std::int64_t taken = pages + gap.dropped;
  std::int64_t wanted = Pages(job.known_tokens()) - taken;
  if (const std::int64_t survivors = PagesOfSurvivors(job); survivors > 0) {
    const std::int64_t before = job.policy->survival(job.prompt_tokens, job.known_tokens())->before;
    wanted = Pages(std::min(job.known_tokens(), before)) - taken + survivors;
  } else if (job.policy != nullptr) {
    const std::int64_t exact = job.exact_tokens() / cache_.options().page_size;
    const std::int64_t end = gap.front + gap.dropped;
    const std::int64_t given_back = std::max<std::int64_t>(end - std::max(exact, gap.front), 0);
    const std::int64_t own = taken - exact - given_back;  // < 0: exact ones are still to come
    wanted = std::min(wanted, job.policy->max_own_pages() - own);
  }
  return std::max<std::int64_t>(wanted, 0);
}

// What its first compaction copies to; 0 where there is none to come.
std::int64_t PageBudget::PagesOfSurvivors(const Job& job) const {
  if (job.policy == nullptr) return 0;
  const auto survival = job.policy->survival(job.prompt_tokens, job.known_tokens());
  return survival ? Pages(survival->after) : 0;
}

// Pages beyond those of its known tokens that the job's next tokens may need.
std::int64_t PageBudget::Headroom(const Job& job) const {
  const std::int64_t known = job.known_tokens();
  const std::int64_t last = SlotsFor(job.prompt_tokens, job.max_output);
  return Pages(std::max(known, std::min(known + options_.headroom_tokens, last))) - Pages(known);
}

}  // namespace banyan::scheduler
