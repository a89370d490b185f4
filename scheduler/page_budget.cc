#include "scheduler/page_budget.h"

#include "base/check.h"
#include "scheduler/fit.h"

namespace banyan::scheduler {
namespace {

using radix::PrefixCache;

std::int64_t Untaken(const Job& job) {
  return job.pages - static_cast<std::int64_t>(job.view.page_table().size());
}

}  // namespace

bool PageBudget::Reserve(Job& job) {
  const std::int32_t page_size = cache_.options().page_size;
  job.pages = PagesFor(SlotsFor(job.prompt_tokens(), job.max_output), page_size);
  const NamespaceId name_space =
      cache_.OpenNamespace(NamespaceName(job.request.tenant, job.request.cache_salt));
  // Pages hold no logits, so that a prompt to be scored is computed from its beginning.
  std::int64_t max_cached = job.request.score_prompt ? 0 : job.prompt_tokens() - 1;
  // Asked first and opened only when it fits: a view that is opened in vain would count as a use of
  // what it matches.
  PrefixCache::Preview preview = cache_.PreviewOpen(name_space, job.request.prompt, max_cached);
  if (!Fits(job, preview)) {
    // A copy-on-write pins its source on top of the pages of the request, which may be the one page
    // too many. Whole pages alone never take more than the request needs.
    if (preview.tokens % page_size == 0) return false;
    max_cached = preview.tokens - preview.tokens % page_size;
    preview = cache_.PreviewOpen(name_space, job.request.prompt, max_cached);
    if (!Fits(job, preview)) return false;
  }
  job.view = cache_.Open(name_space, job.request.prompt, max_cached);
  job.cached_tokens = job.view.tokens();
  CHECK(job.cached_tokens < job.prompt_tokens());
  reserved_ += Untaken(job);
  CHECK(cache_.available_pages() >= reserved_);
  return true;
}

bool PageBudget::Fits(const Job& job, const PrefixCache::Preview& preview) const {
  return cache_.available_pages() - preview.pinned_pages >=
         reserved_ + job.pages - preview.leased_pages;
}

void PageBudget::Take(Job& job, std::int64_t slots) {
  const std::int64_t wanted = PagesFor(slots, cache_.options().page_size);
  CHECK(wanted <= job.pages);
  const std::int64_t more = wanted - static_cast<std::int64_t>(job.view.page_table().size());
  if (more <= 0) return;
  CHECK(cache_.Grow(job.view, static_cast<std::int32_t>(more)));
  reserved_ -= more;
}

void PageBudget::Release(Job& job, PrefixCache::Tail tail) {
  reserved_ -= Untaken(job);
  CHECK(reserved_ >= 0);
  cache_.Close(job.view, tail);
}

}  // namespace banyan::scheduler
