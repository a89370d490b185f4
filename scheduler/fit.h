// How many tokens and pages a request may use.
#pragma once

#include <cstdint>
#include <optional>

#include "radix/prefix_cache.h"
#include "scheduler/scheduler.h"

namespace banyan::scheduler {

// Tokens that a request with this prompt, which passes CheckFits, may really produce, and what
// bounds them: at least 1, or 0 where max_tokens is. n tokens of output need prompt + n tokens of
// context, and pages for all but the last one. A streaming policy lifts both, a budget the pages
// (with snapkv those of the prompt).
struct OutputBound {
  std::int64_t tokens = 0;
  LengthLimit limit = LengthLimit::kNone;
};
OutputBound MaxOutput(const Options& options, const radix::Options& cache,
                      std::int64_t prompt_tokens, std::int64_t max_tokens,
                      const std::optional<KvPolicy>& policy = std::nullopt);

// Slots that a request needs in all: prompt + output - 1, because nothing attends to the last
// token; the prompt's where there is no output.
std::int64_t SlotsFor(std::int64_t prompt_tokens, std::int64_t max_output);

// Pages that hold `slots` slots.
std::int64_t PagesFor(std::int64_t slots, std::int32_t page_size);

}  // namespace banyan::scheduler
