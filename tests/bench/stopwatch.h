// Times what a benchmark prepares before and clears away afterwards.
#pragma once

#include <cstddef>
#include <vector>

#include "benchmark/benchmark.h"

namespace banyan::bench {

// Processor time of this thread, so that what else runs on the machine counts less.
double ProcessorSeconds();

// One batch of operations per iteration, for benchmarks with UseManualTime. When it ends, the
// benchmark has the counter `ns/op`; with percentiles, p50_us, p99_us and max_us of the batches.
class Stopwatch {
 public:
  enum class Percentiles { kNo, kYes };
  explicit Stopwatch(benchmark::State& state, Percentiles percentiles = Percentiles::kNo)
      : state_(state), percentiles_(percentiles) {}
  ~Stopwatch();

  template <class F>
  void Timed(std::size_t operations, F run) {
    const double start = ProcessorSeconds();
    run();
    Add(operations, ProcessorSeconds() - start);
  }

  void Add(std::size_t operations, double seconds);  // one batch, timed by the caller

 private:
  benchmark::State& state_;
  const Percentiles percentiles_;
  std::vector<double> batches_;  // seconds
  std::size_t operations_ = 0;
};

}  // namespace banyan::bench
