#include "server/retry_after.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace banyan::server {
namespace {

constexpr double kWeight = 0.1;  // of the newest request

}  // namespace

void RetryAfter::Observe(double seconds) {
  // A lost update under contention changes an estimate a little, nothing else.
  const double mean = mean_.load(std::memory_order_relaxed);
  mean_.store(mean + kWeight * (seconds - mean), std::memory_order_relaxed);
}

int RetryAfter::Seconds(std::int64_t waiting, std::int64_t places) const {
  DCHECK(places >= 1);
  const double rounds = static_cast<double>(waiting) / static_cast<double>(places);
  const double seconds = std::ceil(rounds * mean_.load(std::memory_order_relaxed));
  return static_cast<int>(std::clamp(seconds, 1.0, double{kMaxRetryAfterSeconds}));
}

}  // namespace banyan::server
