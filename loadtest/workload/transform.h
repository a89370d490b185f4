// Fits a workload to a server: shorter, slower, fewer. What is shared stays shared.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

struct Fit {
  double lengths = 1;  // every segment and answer times this, rounded, at least 1 token
  std::int64_t max_prompt_tokens = 0;  // a longer prompt loses its end; 0: no bound
  std::int64_t max_output_tokens = 0;  // 0: no bound
  double times = 1;                    // every time and think time times this
};

// Text is left as it is but for max_output_tokens. kInvalidArgument for factors that are not > 0.
absl::Status Apply(const Fit& fit, Workload& workload);

}  // namespace banyan::loadtest
