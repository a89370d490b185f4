#include "scheduler/policies/streaming.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "scheduler/fit.h"

namespace banyan::scheduler {

absl::Status Streaming::Check(const KvPolicy& policy, const Options& options,
                              const radix::Options& cache) {
  if (policy.sinks < 0 || policy.sinks > kernels::KeyWindow::kMaxSinks) {
    return absl::InvalidArgumentError(
        absl::StrCat("sinks must be between 0 and ", kernels::KeyWindow::kMaxSinks));
  }
  const std::int64_t least = std::max<std::int64_t>(policy.sinks, 1);
  if (policy.window < least) {
    return absl::InvalidArgumentError(absl::StrCat("the window of ", policy.window,
                                                   " tokens is smaller than ",
                                                   policy.sinks > 0 ? "the sinks, " : "", least));
  }
  if (policy.window > options.context_length - policy.sinks) {  // the sum could overflow
    return absl::OutOfRangeError(absl::StrCat(policy.sinks, " sinks and a window of ",
                                              policy.window, " tokens are over the context of ",
                                              options.context_length));
  }
  const Streaming made(policy, cache.page_size, options.max_batch_tokens);
  const std::int64_t pages = made.window_.capacity() / cache.page_size + made.max_own_pages();
  if (pages <= cache.pages) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(policy.sinks, " sinks and a window of ", policy.window,
                                            " tokens take up to ", pages,
                                            " pages: over the KV pool of ", cache.pages));
}

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
