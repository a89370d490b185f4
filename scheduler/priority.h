// Priorities that grow with waiting, so that none of them is starved by those above it.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"
#include "scheduler/request.h"

namespace banyan::scheduler {

// When a request of priority 0 would have to be submitted to age like one of `priority` that was
// submitted at `since`. It does not change while a request waits, so it can be compared and kept.
inline Tick DueTime(std::int32_t priority, Tick since, Tick ageing) {
  return since - priority * ageing;
}

// `ageing` of waiting is worth one priority.
inline std::int32_t AgedPriority(Tick due, Tick now, Tick ageing) {
  return static_cast<std::int32_t>(
      std::clamp<Tick::rep>((now - due) / ageing, 0, Tick::rep{kMaxPriority}));
}

}  // namespace banyan::scheduler
