#include "tests/bench/stopwatch.h"

#include <time.h>

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace banyan::bench {

double ProcessorSeconds() {
  timespec now{};
  CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

void Stopwatch::Add(std::size_t operations, double seconds) {
  state_.SetIterationTime(seconds);
  batches_.push_back(seconds);
  operations_ += operations;
}

Stopwatch::~Stopwatch() {
  if (batches_.empty()) return;
  const double sum = std::accumulate(batches_.begin(), batches_.end(), 0.0);
  state_.counters["ns/op"] = 1e9 * sum / static_cast<double>(operations_);
  if (percentiles_ == Percentiles::kNo) return;
  std::sort(batches_.begin(), batches_.end());
  state_.counters["p50_us"] = 1e6 * batches_[batches_.size() / 2];
  state_.counters["p99_us"] = 1e6 * batches_[batches_.size() * 99 / 100];
  state_.counters["max_us"] = 1e6 * batches_.back();
}

}  // namespace banyan::bench
