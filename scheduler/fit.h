// How many tokens and pages a request may use.
#pragma once

#include <cstdint>

#include "radix/prefix_cache.h"
#include "scheduler/policies/policy.h"
#include "scheduler/scheduler.h"

namespace banyan::scheduler {

// Tokens that a request with this prompt, which passes CheckFits, may really produce, and what
// bounds them: at least 1, or 0 where max_tokens is. n tokens of output need prompt + n tokens of
// context, and pages for all but the last one. A policy (null: none) may lift both.
struct OutputBound {
  std::int64_t tokens = 0;
  LengthLimit limit = LengthLimit::kNone;
};
OutputBound MaxOutput(const Options& options, const radix::Options& cache,
                      std::int64_t prompt_tokens, std::int64_t max_tokens,
                      const Policy* policy = nullptr);

// The most tokens of an answer all of which is held, but for the last one, beside its prompt.
std::int64_t PoolOutput(std::int64_t prompt_tokens, const radix::Options& pool);

// The most pages at once until a prompt has been computed and compacted.
std::int64_t PeakPages(const Policy& policy, std::int64_t prompt_tokens, std::int32_t page_size);

// Slots that a request needs in all: prompt + output - 1, because nothing attends to the last
// token; the prompt's where there is no output.
std::int64_t SlotsFor(std::int64_t prompt_tokens, std::int64_t max_output);

// Pages that hold `slots` slots.
std::int64_t PagesFor(std::int64_t slots, std::int32_t page_size);

}  // namespace banyan::scheduler
