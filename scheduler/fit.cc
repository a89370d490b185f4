#include "scheduler/fit.h"

#include <algorithm>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "scheduler/policies/policy.h"

namespace banyan::scheduler {
namespace {

std::int64_t PoolSlots(const radix::Options& cache) {
  return std::int64_t{cache.pages} * cache.page_size;
}

absl::Status CheckWindow(const Options& options, const radix::Options& cache,
                         const KvPolicy& policy) {
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
  const std::unique_ptr<const Policy> kept =
      MakePolicy(policy, cache.page_size, options.max_batch_tokens);
  const std::int64_t pages =
      kept->exact_tokens(/*prompt_tokens=*/1) / cache.page_size + kept->max_own_pages();
  if (pages > cache.pages) {
    return absl::OutOfRangeError(absl::StrCat(policy.sinks, " sinks and a window of ",
                                              policy.window, " tokens take up to ", pages,
                                              " pages: over the KV pool of ", cache.pages));
  }
  return absl::OkStatus();
}

absl::Status CheckInContext(const Options& options, const KvPolicy& policy) {
  if (policy.budget <= options.context_length) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "the budget of ", policy.budget, " tokens is over the context of ", options.context_length));
}

absl::Status CheckChoice(const Options& options, const radix::Options& cache,
                         const KvPolicy& policy) {
  if (policy.dense_layers < 0 || policy.dense_layers > kernels::PageChoice::kMaxDenseLayers) {
    return absl::InvalidArgumentError(
        absl::StrCat("dense_layers must be between 0 and ", kernels::PageChoice::kMaxDenseLayers));
  }
  if (policy.budget < cache.page_size) {
    return absl::InvalidArgumentError(absl::StrCat("the budget of ", policy.budget,
                                                   " tokens is less than a page, which has ",
                                                   cache.page_size));
  }
  return CheckInContext(options, policy);
}

// The most pages at once until a prompt has been computed and compacted.
std::int64_t PeakPages(const Options& options, const radix::Options& cache, const KvPolicy& policy,
                       std::int64_t prompt_tokens) {
  const auto survival = MakePolicy(policy, cache.page_size, options.max_batch_tokens)
                            ->survival(prompt_tokens, prompt_tokens);
  if (!survival) return PagesFor(prompt_tokens, cache.page_size);
  return PagesFor(survival->before, cache.page_size) + PagesFor(survival->after, cache.page_size);
}

absl::Status CheckBudget(const Options& options, const radix::Options& cache,
                         const KvPolicy& policy) {
  const auto between = [](const char* name, std::int64_t value, std::int64_t most) {
    if (1 <= value && value <= most) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(name, " must be between 1 and ", most));
  };
  for (const absl::Status& status :
       {between("observe", policy.observe, KvPolicy::kMaxObserved),
        between("history", policy.history, kernels::KeepRule::kMaxHistory),
        between("pooled", policy.pooled, kernels::KeepRule::kMaxPooled)}) {
    if (!status.ok()) return status;
  }
  if (policy.pooled % 2 == 0) return absl::InvalidArgumentError("pooled must be odd");
  if (policy.budget < 1) return absl::InvalidArgumentError("the budget must be at least 1");
  if (policy.recent < 0 || policy.recent > policy.budget) {
    return absl::InvalidArgumentError(
        absl::StrCat(policy.recent, " recent tokens are not within the budget of ", policy.budget));
  }
  if (absl::Status status = CheckInContext(options, policy); !status.ok()) return status;
  const std::int64_t pages = PeakPages(options, cache, policy, /*prompt_tokens=*/1);
  if (pages <= cache.pages) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat("a budget of ", policy.budget, " tokens takes up to ",
                                            pages, " pages: over the KV pool of ", cache.pages));
}

}  // namespace

absl::Status CheckPolicy(const Options& options, const radix::Options& cache,
                         const KvPolicy& policy) {
  if (policy.type == KvPolicy::Type::kStreaming) return CheckWindow(options, cache, policy);
  if (policy.type == KvPolicy::Type::kQuest) return CheckChoice(options, cache, policy);
  return CheckBudget(options, cache, policy);
}

absl::Status CheckFits(const Options& options, const radix::Options& cache,
                       std::int64_t prompt_tokens, std::int64_t max_tokens,
                       const std::optional<KvPolicy>& policy) {
  if (policy) {
    if (absl::Status status = CheckPolicy(options, cache, *policy); !status.ok()) return status;
  }
  if (policy && policy->type == KvPolicy::Type::kStreaming) {
    const std::int64_t tokens = std::max<std::int64_t>(max_tokens, 1);
    if (tokens <= kMaxPolicyTokens - prompt_tokens) return absl::OkStatus();
    return absl::OutOfRangeError(absl::StrCat("the prompt has ", prompt_tokens, " tokens, with ",
                                              tokens, " more over the most of ", kMaxPolicyTokens));
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
  if (!policy) return absl::OkStatus();
  const std::int64_t pages = PeakPages(options, cache, *policy, prompt_tokens);
  if (pages <= cache.pages) return absl::OkStatus();
  return absl::OutOfRangeError(absl::StrCat(
      "the prompt has ", prompt_tokens, " tokens, which take ", pages, " pages while a budget of ",
      policy->budget, " survives: over the KV pool of ", cache.pages));
}

OutputBound MaxOutput(const Options& options, const radix::Options& cache,
                      std::int64_t prompt_tokens, std::int64_t max_tokens,
                      const std::optional<KvPolicy>& policy) {
  OutputBound bound{.tokens = max_tokens, .limit = LengthLimit::kMaxTokens};
  const bool streams = policy && policy->type == KvPolicy::Type::kStreaming;
  const std::int64_t context =
      (streams ? kMaxPolicyTokens : options.context_length) - prompt_tokens;
  if (context < bound.tokens) bound = {.tokens = context, .limit = LengthLimit::kContext};
  const bool snaps = policy && policy->type == KvPolicy::Type::kSnapKv;
  if (policy && !snaps && policy->type != KvPolicy::Type::kQuest) return bound;
  std::int64_t pool = PoolSlots(cache) - prompt_tokens + 1;
  // Computed again after a preemption, prompt and answer are there at once.
  if (snaps && prompt_tokens > policy->budget) {
    const std::int64_t left = cache.pages - PagesFor(prompt_tokens, cache.page_size);
    pool = left * cache.page_size - policy->budget + 1;
  }
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
