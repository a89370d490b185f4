#include "scheduler/fit.h"

#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace banyan::scheduler {
namespace {

std::int64_t PoolSlots(const radix::Options& cache) {
  return std::int64_t{cache.pages} * cache.page_size;
}

// `tokens` more than the prompt's.
absl::Status CheckEndless(std::int64_t prompt_tokens, std::int64_t tokens) {
  if (tokens <= kMaxPolicyTokens - prompt_tokens) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("the prompt has ", prompt_tokens, " tokens, with ",
                                            tokens, " more over the most of ", kMaxPolicyTokens));
}

}  // namespace

absl::Status CheckFits(const Options& options, const radix::Options& cache,
                       std::int64_t prompt_tokens, std::int64_t max_tokens,
                       const std::optional<KvPolicy>& policy) {
  std::unique_ptr<const Policy> made;
  if (policy) {
    if (absl::Status status = CheckPolicy(options, cache, *policy); !status.ok()) return status;
    made = MakePolicy(*policy, cache.page_size, options.max_batch_tokens);
    if (made->is_endless())
      return CheckEndless(prompt_tokens, std::max<std::int64_t>(max_tokens, 1));
  }
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
  if (made == nullptr) return absl::OkStatus();
  const std::int64_t pages = PeakPages(*made, prompt_tokens, cache.page_size);
  if (pages <= cache.pages) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "the prompt has ", prompt_tokens, " tokens, which take ", pages, " pages while a budget of ",
      policy->budget, " survives: over the KV pool of ", cache.pages));
}

OutputBound MaxOutput(const Options& options, const radix::Options& cache,
                      std::int64_t prompt_tokens, std::int64_t max_tokens, const Policy* policy) {
  OutputBound bound{.tokens = max_tokens, .limit = LengthLimit::kMaxTokens};
  const bool is_endless = policy != nullptr && policy->is_endless();
  const std::int64_t context =
      (is_endless ? kMaxPolicyTokens : options.context_length) - prompt_tokens;
  if (context < bound.tokens) bound = {.tokens = context, .limit = LengthLimit::kContext};
  const std::optional<std::int64_t> pool = policy == nullptr
                                               ? PoolOutput(prompt_tokens, cache)
                                               : policy->max_output(prompt_tokens, cache);
  if (pool && *pool < bound.tokens) bound = {.tokens = *pool, .limit = LengthLimit::kPool};
  return bound;
}

std::int64_t PoolOutput(std::int64_t prompt_tokens, const radix::Options& pool) {
  return PoolSlots(pool) - prompt_tokens + 1;
}

std::int64_t PeakPages(const Policy& policy, std::int64_t prompt_tokens, std::int32_t page_size) {
  const auto survival = policy.survival(prompt_tokens, prompt_tokens);
  if (!survival) return PagesFor(prompt_tokens, page_size);
  return PagesFor(survival->before, page_size) + PagesFor(survival->after, page_size);
}

std::int64_t SlotsFor(std::int64_t prompt_tokens, std::int64_t max_output) {
  return prompt_tokens + std::max<std::int64_t>(max_output - 1, 0);
}

std::int64_t PagesFor(std::int64_t slots, std::int32_t page_size) {
  return (slots + page_size - 1) / page_size;
}

}  // namespace banyan::scheduler
