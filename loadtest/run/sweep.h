// The same workload at one load after another, up to the knee: the load beyond which a server gives
// no more. Pure, but for what the steps do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "loadtest/measure/summary.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

struct Sweep {
  enum class Over : std::uint8_t { kConcurrency, kRate } over = Over::kConcurrency;
  std::vector<double> loads;  // ascending
};
inline constexpr std::size_t kMaxSweepSteps = 64;

// "concurrency=1,2,4,8" or "rate=0.5,1,2"; kInvalidArgument says what is wrong.
absl::StatusOr<Sweep> ParseSweep(std::string_view text);
std::string_view Name(Sweep::Over over);

struct SweepStep {
  double load = 0;
  Summary summary;
};

// Why no further step is worth it: "" while there is hope. A step must bring 5% more goodput (with
// limits) or 5% more tokens a second (without) than the best before it, and keep the limits for at
// least 90% of requests.
std::string KneeReason(const std::vector<SweepStep>& steps, const Slo& slo);

// A line per step.
std::string SweepTable(Sweep::Over over, const std::vector<SweepStep>& steps, const Slo& slo);

// Another workload alike: what is shared within it stays shared, and nothing is shared with the one
// it was made of, so that a server's cache knows none of it. Text is left as it is. A salt of 0
// changes nothing.
void Salt(std::uint64_t salt, Workload& workload);

}  // namespace banyan::loadtest
