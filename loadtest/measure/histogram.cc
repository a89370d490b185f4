#include "loadtest/measure/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "absl/status/status.h"
#include "base/check.h"

namespace banyan::loadtest {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t kParts = std::uint64_t{1} << Histogram::kBits;

// Values under 2 * kParts are their own bucket; above, each doubling has kParts buckets.
std::size_t BucketOf(std::int64_t value) {
  const auto bits = static_cast<std::uint64_t>(value);
  const int shift = std::max(0, static_cast<int>(std::bit_width(bits)) - (Histogram::kBits + 1));
  return (static_cast<std::size_t>(shift) << Histogram::kBits) + (bits >> shift);
}

std::int64_t Width(std::size_t bucket) {
  return bucket < 2 * kParts ? 1 : std::int64_t{1} << ((bucket >> Histogram::kBits) - 1);
}

std::int64_t Lowest(std::size_t bucket) {
  if (bucket < 2 * kParts) return static_cast<std::int64_t>(bucket);
  return static_cast<std::int64_t>(bucket % kParts + kParts) * Width(bucket);
}

std::int64_t Highest(std::size_t bucket) { return Lowest(bucket) + (Width(bucket) - 1); }

// Sums that stop at the largest number: a mean that is too small is better than one that is
// negative.
std::int64_t Add(std::int64_t a, std::int64_t b) { return a > kMost - b ? kMost : a + b; }
std::int64_t Times(std::int64_t a, std::int64_t b) {
  return b != 0 && a > kMost / b ? kMost : a * b;
}

}  // namespace

void Histogram::Count(std::size_t bucket, std::int64_t count) {
  if (bucket >= counts_.size()) counts_.resize(bucket + 1);
  counts_[bucket] = Add(counts_[bucket], count);
  count_ = Add(count_, count);
}

void Histogram::Record(std::int64_t value, std::int64_t count) {
  CHECK(value >= 0 && count >= 0);
  if (count == 0) return;
  min_ = count_ == 0 ? value : std::min(min_, value);
  max_ = std::max(max_, value);
  sum_ = Add(sum_, Times(value, count));
  Count(BucketOf(value), count);
}

void Histogram::Merge(const Histogram& other) {
  if (other.count_ == 0) return;
  min_ = count_ == 0 ? other.min_ : std::min(min_, other.min_);
  max_ = std::max(max_, other.max_);
  sum_ = Add(sum_, other.sum_);
  for (std::size_t i = 0; i < other.counts_.size(); ++i) {
    if (other.counts_[i] > 0) Count(i, other.counts_[i]);
  }
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

std::int64_t Histogram::Quantile(double q) const {
  CHECK(q >= 0 && q <= 1);
  if (count_ == 0) return 0;
  // The double before q, because 0.07 * 100 is a little over 7 and would ask for the 8th.
  const double wanted = std::ceil(std::nextafter(q, 0) * static_cast<double>(count_));
  const std::int64_t rank = std::clamp<std::int64_t>(static_cast<std::int64_t>(wanted), 1, count_);
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    seen = Add(seen, counts_[i]);
    if (seen >= rank) return std::min(Highest(i), max_);
  }
  return max_;
}

std::vector<Histogram::Bucket> Histogram::Buckets() const {
  std::vector<Bucket> buckets;
  for (std::size_t i = 0; i < counts_.size(); ++i) {
    if (counts_[i] > 0) buckets.emplace_back(Lowest(i), counts_[i]);
  }
  return buckets;
}

absl::StatusOr<Histogram> Histogram::From(const std::vector<Bucket>& buckets, std::int64_t min,
                                          std::int64_t max, std::int64_t sum) {
  Histogram histogram;
  std::int64_t before = -1;
  for (const auto& [value, count] : buckets) {
    if (value <= before) {
      return absl::InvalidArgumentError("a histogram's buckets are not ascending");
    }
    before = value;
    const std::size_t bucket = BucketOf(value);
    if (Lowest(bucket) != value || count <= 0) {
      return absl::InvalidArgumentError("a histogram's bucket is not one");
    }
    histogram.Count(bucket, count);
  }
  const bool empty = buckets.empty();
  if (min < 0 || max < min || sum < 0 || (empty && (max > 0 || sum > 0)) ||
      (!empty && (BucketOf(min) != BucketOf(buckets.front().first) ||
                  BucketOf(max) != BucketOf(buckets.back().first)))) {
    return absl::InvalidArgumentError("a histogram's least, largest and sum are not its buckets'");
  }
  histogram.min_ = min;
  histogram.max_ = max;
  histogram.sum_ = sum;
  return histogram;
}

}  // namespace banyan::loadtest
