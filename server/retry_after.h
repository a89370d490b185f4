// When a client that found the queue full should come back.
#pragma once

#include <atomic>
#include <cstdint>

namespace banyan::server {

inline constexpr int kMaxRetryAfterSeconds = 60;

// Learns how long requests run, and estimates from it when the queue will have moved on.
// Thread-safe.
class RetryAfter {
 public:
  // A request ran for that long, from admission to its end.
  void Observe(double seconds);
  // `waiting` requests share `places` places: whole seconds, 1..kMaxRetryAfterSeconds.
  int Seconds(std::int64_t waiting, std::int64_t places) const;

 private:
  std::atomic<double> mean_ = 1.0;  // exponentially weighted, seconds
};

}  // namespace banyan::server
