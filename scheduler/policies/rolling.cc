#include "scheduler/policies/rolling.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/fit.h"

namespace banyan::scheduler {

Rolling::Rolling(const kernels::KeepRule& keep, kernels::SlotImportance by, std::int64_t bulk,
                 std::int64_t observe, std::int32_t page_size)
    : keep_(keep), by_(by), limit_(keep.budget + bulk), observe_(observe), page_size_(page_size) {
  CHECK(keep.is_sound() && bulk >= 1 && observe >= 1);
}

std::int64_t Rolling::max_cached(std::int64_t prompt_tokens) const {
  return std::max<std::int64_t>(prompt_tokens - observe_, 0);
}

std::optional<Policy::Observed> Rolling::observed(std::int64_t prompt_tokens,
                                                  std::int64_t /*first*/) const {
  return Observed{.from = max_cached(prompt_tokens), .by = by_};
}

std::optional<kernels::KeepRule> Rolling::compaction(std::int64_t prompt_tokens,
                                                     std::int64_t tokens,
                                                     std::int64_t slots) const {
  if (tokens < prompt_tokens || slots < limit_) return std::nullopt;
  return keep_;
}

std::optional<Policy::Survival> Rolling::survival(std::int64_t prompt_tokens,
                                                  std::int64_t /*known*/) const {
  return Survival{.before = std::max(prompt_tokens, limit_), .after = limit_};
}

// A prompt that is shorter than the limit ends anywhere in a page.
std::int64_t Rolling::max_own_pages() const { return PagesFor(limit_, page_size_) + 1; }

std::int64_t Rolling::dropped_tokens(std::int64_t prompt_tokens, std::int64_t tokens) const {
  const std::int64_t first = std::max(prompt_tokens, limit_);
  if (tokens <= first) return 0;
  const std::int64_t bulk = limit_ - keep_.budget;
  return first - keep_.budget + (tokens - first - 1) / bulk * bulk;
}

}  // namespace banyan::scheduler
