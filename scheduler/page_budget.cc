#include "scheduler/page_budget.h"

#include "base/check.h"
#include "scheduler/fit.h"

namespace banyan::scheduler {
namespace {

std::int64_t Untaken(const Job& job) {
  return job.pages - static_cast<std::int64_t>(job.view.page_table().size());
}

}  // namespace

bool PageBudget::Reserve(Job& job) {
  job.pages = PagesFor(job.prompt_tokens() + job.max_output - 1, cache_.options().page_size);
  const std::int64_t all_but_last = job.prompt_tokens() - 1;
  if (TryReserve(job, all_but_last)) return true;
  // A copy-on-write pins its source on top of the pages of the request, which may be the one page
  // too many. Whole pages alone never take more than the request needs.
  const std::int64_t partial = job.cached_tokens % cache_.options().page_size;
  if (partial > 0 && TryReserve(job, job.cached_tokens - partial)) return true;
  job.cached_tokens = 0;
  return false;
}

bool PageBudget::TryReserve(Job& job, std::int64_t max_cached) {
  const NamespaceId name_space = cache_.OpenNamespace(job.request.name_space);
  job.view = cache_.Open(name_space, job.request.prompt, max_cached);
  job.cached_tokens = job.view.tokens();
  CHECK(job.cached_tokens < job.prompt_tokens());
  // The view is open by now, so that the pages it pins are no longer counted as available.
  if (cache_.available_pages() < reserved_ + Untaken(job)) {
    cache_.Close(job.view, radix::PrefixCache::Tail::kDiscard);
    return false;
  }
  reserved_ += Untaken(job);
  return true;
}

void PageBudget::Take(Job& job, std::int64_t slots) {
  const std::int64_t wanted = PagesFor(slots, cache_.options().page_size);
  CHECK(wanted <= job.pages);
  const std::int64_t more = wanted - static_cast<std::int64_t>(job.view.page_table().size());
  if (more <= 0) return;
  CHECK(cache_.Grow(job.view, static_cast<std::int32_t>(more)));
  reserved_ -= more;
}

void PageBudget::Release(Job& job, radix::PrefixCache::Tail tail) {
  reserved_ -= Untaken(job);
  CHECK(reserved_ >= 0);
  cache_.Close(job.view, tail);
}

}  // namespace banyan::scheduler
