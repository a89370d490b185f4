// Counts of values with a bounded relative error, in bounded memory, that can be added up: the
// layout of HdrHistogram (Tene): buckets whose width doubles as values do, each of 2^kBits equal
// parts. At most 440 KiB, whatever is recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace banyan::loadtest {

class Histogram {
 public:
  // A value is told to within 1/2^kBits of itself: 0.1%. Those under 2^(kBits+1) are exact.
  static constexpr int kBits = 10;

  // (lower bound of a bucket, count)
  using Bucket = std::pair<std::int64_t, std::int64_t>;

  // `value` >= 0 (in what is measured here: nanoseconds), `count` >= 0.
  void Record(std::int64_t value, std::int64_t count = 1);
  // As if all that was recorded in `other` had been recorded here.
  void Merge(const Histogram& other);

  std::int64_t count() const { return count_; }
  std::int64_t min() const { return min_; }  // exact; 0 when empty
  std::int64_t max() const { return max_; }  // exact; 0 when empty
  std::int64_t sum() const { return sum_; }  // exact; stops at 2^63 - 1, 292 years
  double mean() const;                       // 0 when empty
  // The smallest recorded value such that at least a part q of all are not larger, to within the
  // relative error and never less than it; 0 when empty. q in 0..1.
  std::int64_t Quantile(double q) const;

  // Ascending, none empty: for reports, and back.
  std::vector<Bucket> Buckets() const;
  // What Buckets(), min(), max() and sum() were of; kInvalidArgument when no histogram has these.
  static absl::StatusOr<Histogram> From(const std::vector<Bucket>& buckets, std::int64_t min,
                                        std::int64_t max, std::int64_t sum);

  bool operator==(const Histogram&) const = default;

 private:
  void Count(std::size_t bucket, std::int64_t count);

  std::vector<std::int64_t> counts_;  // to the bucket of max_
  std::int64_t count_ = 0;
  std::int64_t min_ = 0;
  std::int64_t max_ = 0;
  std::int64_t sum_ = 0;
};

}  // namespace banyan::loadtest
