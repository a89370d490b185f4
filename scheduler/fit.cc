#include "scheduler/fit.h"

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace banyan::scheduler {
namespace {

std::int64_t PoolSlots(const radix::Options& cache) {
  return std::int64_t{cache.pages} * cache.page_size;
}

}  // namespace

absl::Status CheckFits(const Options& options, const radix::Options& cache,
                       std::int64_t prompt_tokens, std::int64_t max_tokens) {
  const std::int64_t context = options.context_length;
  const std::int64_t pool = PoolSlots(cache);
  if (prompt_tokens >= std::min(context, pool)) {
    return absl::OutOfRangeError(absl::StrCat(
        "the prompt has ", prompt_tokens, " tokens, with one more ", prompt_tokens + 1,
        ": over the ", context <= pool ? "context" : "KV pool", " of ", std::min(context, pool)));
  }
  if (max_tokens > context - prompt_tokens) {  // the sum itself could overflow
    return absl::OutOfRangeError(absl::StrCat("the prompt has ", prompt_tokens,
                                              " tokens and max_tokens is ", max_tokens,
                                              ": together over the context of ", context));
  }
  return absl::OkStatus();
}

OutputBound MaxOutput(const Options& options, const radix::Options& cache,
                      std::int64_t prompt_tokens, std::int64_t max_tokens) {
  OutputBound bound{.tokens = max_tokens, .limit = LengthLimit::kMaxTokens};
  const std::int64_t context = options.context_length - prompt_tokens;
  if (context < bound.tokens) bound = {.tokens = context, .limit = LengthLimit::kContext};
  const std::int64_t pool = PoolSlots(cache) - prompt_tokens + 1;
  if (pool < bound.tokens) bound = {.tokens = pool, .limit = LengthLimit::kPool};
  return bound;
}

std::int64_t SlotsFor(std::int64_t prompt_tokens, std::int64_t max_output) {
  return prompt_tokens + std::max<std::int64_t>(max_output - 1, 0);
}

std::int64_t PagesFor(std::int64_t slots, std::int32_t page_size) {
  return (slots + page_size - 1) / page_size;
}

}  // namespace banyan::scheduler
