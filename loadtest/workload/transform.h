// Fits a workload to a server: shorter, slower, fewer. What is shared stays shared.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

struct Fit {
  double lengths = 1;  // every segment and answer times this, rounded, at least 1 token
  // A longer prompt loses its end; 0: no bound. A prompt is all that its turn sends: the messages
  // and answers before it count. Each message keeps a token; a conversation ends before the turn
  // where that cannot be.
  std::int64_t max_prompt_tokens = 0;
  std::int64_t max_output_tokens = 0;  // also where the length was the server's choice; 0: no bound
  double times = 1;                    // every time and think time times this
};

// In this order; `source` then says so. Text is left as it is but for the output's length.
// kInvalidArgument, and nothing changed, for factors that are not > 0 and times that get too long;
// kInvalidArgument also when no conversation is left.
absl::Status Apply(const Fit& fit, Workload& workload);

}  // namespace banyan::loadtest
