// Sends a workload to a server and records what comes back.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "loadtest/client/target.h"
#include "loadtest/measure/result.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

struct RunOptions {
  TargetOptions target;
  // Closed loop: so many conversations at once, each turn after the answer before and its think
  // time; times of the source are not looked at. 0: open loop, as Conversation::turns say.
  std::int32_t concurrency = 0;
  std::int32_t ramp_steps = 0;  // closed loop: conversations join one after another over `ramp`
  Tick ramp{0};
  Tick warm_up{0};
  Tick max_time{0};  // no request is sent later, and those in flight are interrupted
                     // `grace` after; 0: until all is asked
  Tick grace = std::chrono::seconds(30);
  std::int64_t max_requests = 0;       // 0: all
  std::int32_t max_in_flight = 16384;  // an open loop waits at this, and says so in client lag
  double temperature = 0;
  bool ignore_eos = true;  // answers have the length that was asked for, where a server can
  std::string extra_body;  // JSON members added to every request: "" or {"priority":3}
  Tick metrics_every = std::chrono::seconds(1);  // 0: /metrics is not asked
};

// What is shown while it runs.
struct Progress {
  Tick at{0};
  std::int64_t sent = 0;
  std::int64_t finished = 0;
  std::int64_t failed = 0;
  std::int32_t in_flight = 0;
  std::int64_t planned = 0;
  std::optional<Tick> time_left;
  Tick ttft_p50{0}, ttft_p99{0};  // since the last report, 0 when there was none
  double rate = 0;                // requests a second since the last report
  double tokens_per_second = 0;
  double hit_rate = 0;  // of prompt tokens since the last report; NaN when not told
};

// Blocks until the run is over. `stop` set (by Ctrl-C) ends it soon with what was measured. A run
// that could not begin is a status: kUnavailable, kNotFound, kInvalidArgument.
absl::StatusOr<Result> Run(const Workload& workload, const RunOptions& options,
                           const std::atomic<bool>& stop,
                           const std::function<void(const Progress&)>& progress);

}  // namespace banyan::loadtest
