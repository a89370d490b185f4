// How many tokens and pages a request may use.
#pragma once

#include <cstdint>

#include "radix/prefix_cache.h"
#include "scheduler/scheduler.h"

namespace banyan::scheduler {

// Tokens that a request with this prompt, which passes CheckFits, may really produce: at least 1.
// n tokens of output need prompt + n tokens of context, but only prompt + n - 1 slots of the pool.
std::int64_t MaxOutput(const Options& options, const radix::Options& cache,
                       std::int64_t prompt_tokens, std::int64_t max_tokens);

// Pages that hold `slots` slots.
std::int64_t PagesFor(std::int64_t slots, std::int32_t page_size);

}  // namespace banyan::scheduler
