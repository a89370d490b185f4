// When conversations begin in an open loop, whatever the server does.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

enum class Arrivals : std::uint8_t {
  kTrace,     // as the source says
  kPoisson,   // exponential gaps
  kGamma,     // gamma gaps with the shape `burstiness`: < 1 comes in bursts, 1 is Poisson
  kConstant,  // equal gaps
};

struct ArrivalOptions {
  Arrivals arrivals = Arrivals::kTrace;
  double rate = 1;        // conversations a second, > 0
  double burstiness = 1;  // > 0
  // The rate grows linearly from 0 over this time at the beginning.
  Tick ramp{0};
  std::uint64_t seed = 1;
};

// Sets `at` of every conversation's first turn, 0 for the first of all; later turns keep their
// think times, or their distance from the first turn. With kTrace only checks that the source has
// times: kInvalidArgument when it has none, or for options out of bounds.
absl::Status SetArrivals(const ArrivalOptions& options, Workload& workload);

}  // namespace banyan::loadtest
