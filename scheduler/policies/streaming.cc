#include "scheduler/policies/streaming.h"

#include <algorithm>

#include "base/check.h"
#include "scheduler/fit.h"

namespace banyan::scheduler {

Streaming::Streaming(const KvPolicy& policy, std::int32_t page_size, std::int32_t max_batch_tokens)
    : window_{.window = policy.window, .sinks = policy.sinks},
      page_size_(page_size),
      max_chunk_(std::min<std::int64_t>(max_batch_tokens,
                                        std::max<std::int64_t>(policy.window, page_size))),
      front_(PagesFor(policy.sinks, page_size)) {
  CHECK(policy.window >= 1 && policy.sinks >= 0);
}

Policy::Unseen Streaming::unseen(std::int64_t tokens) const {
  // The token before the next one is kept in any case.
  const std::int64_t first = std::min(window_.first_key(tokens), tokens - 1);
  return {.front = front_, .until = first / page_size_};
}

// A step from token n on, of c tokens, needs the pages of n - W + 1 .. n + c - 1: W + c - 1 tokens
// that begin anywhere in their first page; of n - 1 in any case. And the sinks', where they lie
// behind the exact pages.
std::int64_t Streaming::max_own_pages() const {
  const std::int64_t whole = window_.capacity() / page_size_;
  const std::int64_t span = 1 + PagesFor(std::max<std::int64_t>(window_.window, 2) + max_chunk_ - 2,
                                         static_cast<std::int32_t>(page_size_));
  return span + std::max<std::int64_t>(front_ - whole, 0);
}

std::int64_t Streaming::dropped_tokens(std::int64_t /*prompt_tokens*/, std::int64_t tokens) const {
  return std::max<std::int64_t>(tokens - window_.capacity(), 0);
}

}  // namespace banyan::scheduler
