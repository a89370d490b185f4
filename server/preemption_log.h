// Preemptions for the log: under lasting pressure every step may have some, so they are summed up
// and told at most once a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace banyan::server {

// Belongs to the engine thread.
class PreemptionLog {
 public:
  static constexpr std::chrono::seconds kInterval{1};

  struct Line {
    std::int64_t requests = 0;
    std::int64_t output_tokens = 0;  // of them, sampled so far; nothing of it is lost
  };

  void Add(std::int64_t output_tokens) {
    ++since_.requests;
    since_.output_tokens += output_tokens;
  }

  // What was not told yet; nothing when there is none, or the last line is not long enough ago.
  std::optional<Line> Take(Tick now);

 private:
  Line since_;
  std::optional<Tick> last_;
};

}  // namespace banyan::server
