// Counts of values with a bounded relative error, in bounded memory, that can be added up: the
// layout of HdrHistogram (Tene): buckets whose width doubles as values do, each of 2^kBits equal
// parts.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace banyan::loadtest {

class Histogram {
 public:
  // A value is told to within 1/2^kBits of itself: 0.1%.
  static constexpr int kBits = 10;

  // `value` >= 0 (in what is measured here: nanoseconds), `count` >= 0.
  void Record(std::int64_t value, std::int64_t count = 1);
  void Merge(const Histogram& other);

  std::int64_t count() const { return count_; }
  std::int64_t min() const { return min_; }  // exact; 0 when empty
  std::int64_t max() const { return max_; }  // exact; 0 when empty
  double mean() const;                       // exact; 0 when empty
  // The smallest recorded value such that at least a part q of all are not larger, to within the
  // relative error; 0 when empty. q in 0..1.
  std::int64_t Quantile(double q) const;

  // (lower bound of a bucket, count), ascending, none empty: for reports, and back.
  std::vector<std::pair<std::int64_t, std::int64_t>> Buckets() const;

 private:
  std::vector<std::int64_t> counts_;  // as long as the largest value wanted
  std::int64_t count_ = 0;
  std::int64_t min_ = 0;
  std::int64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace banyan::loadtest
