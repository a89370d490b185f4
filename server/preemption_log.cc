#include "server/preemption_log.h"

#include <utility>

namespace banyan::server {

std::optional<PreemptionLog::Line> PreemptionLog::Take(Tick now) {
  if (since_.requests == 0 || (last_ && now - *last_ < kInterval)) return std::nullopt;
  last_ = now;
  return std::exchange(since_, Line{});
}

}  // namespace banyan::server
