// When turns are due. Pure: no clock, no sockets.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "loadtest/run/run.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

enum class Loop : std::uint8_t { kOpen, kClosed };

inline Loop LoopOf(const RunOptions& options) {
  return options.concurrency > 0 ? Loop::kClosed : Loop::kOpen;
}

// kInvalidArgument for options out of bounds, an empty workload, or an open loop over a source
// without times.
absl::Status Check(const Workload& workload, const RunOptions& options);

struct Due {
  Tick scheduled{0};  // what latencies from the scheduled time count from
  Tick ready{0};      // when the client can act: never before the answer before is complete
};

// Of a conversation's first turn. Closed loop: at once when its place is free.
Due FirstDue(const Turn& turn, Loop loop, Tick place_free);

// Of a later turn, once the answer before it is complete. One with a time of its own is scheduled
// then, even if that answer is late: the wait is the server's.
Due NextDue(const Turn& turn, Loop loop, Tick answered);

// Closed loop: when the k-th place (from 0) of `concurrency` joins: one after another over `ramp`,
// or in ramp_steps groups.
Tick JoinOf(std::int32_t place, const RunOptions& options);

// Requests that will be sent at most.
std::int64_t Planned(const Workload& workload, const RunOptions& options);

// By the time that is left, and by what is still to be asked at the mean rate so far; nullopt while
// neither is known.
std::optional<Tick> TimeLeft(const RunOptions& options, Tick now, std::int64_t done,
                             std::int64_t planned);

}  // namespace banyan::loadtest
