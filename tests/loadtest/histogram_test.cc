#include "loadtest/measure/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace banyan::loadtest {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

Histogram Of(const std::vector<std::int64_t>& values) {
  Histogram histogram;
  for (const std::int64_t value : values) histogram.Record(value);
  return histogram;
}

TEST(Histogram, EmptyIsAllZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_EQ(histogram.min(), 0);
  EXPECT_EQ(histogram.max(), 0);
  EXPECT_EQ(histogram.mean(), 0);
  EXPECT_EQ(histogram.Quantile(0.5), 0);
  EXPECT_THAT(histogram.Buckets(), IsEmpty());
}

TEST(Histogram, ValuesUnder2048AreABucketEach) {
  EXPECT_THAT(Of({0, 1, 1023, 1024, 1025, 2046, 2047}).Buckets(),
              ElementsAre(Pair(0, 1), Pair(1, 1), Pair(1023, 1), Pair(1024, 1), Pair(1025, 1),
                          Pair(2046, 1), Pair(2047, 1)));
}

TEST(Histogram, FromEachPowerOfTwoOnBucketsAreTwiceAsWide) {
  EXPECT_THAT(Of({2047, 2048, 2049, 2050}).Buckets(),
              ElementsAre(Pair(2047, 1), Pair(2048, 2), Pair(2050, 1)));
  EXPECT_THAT(Of({4093, 4094, 4095, 4096, 4099, 4100}).Buckets(),
              ElementsAre(Pair(4092, 1), Pair(4094, 2), Pair(4096, 2), Pair(4100, 1)));
  const std::int64_t big = std::int64_t{1} << 40;
  const std::int64_t width = std::int64_t{1} << 30;
  EXPECT_THAT(Of({big - 1, big, big + width - 1, big + width}).Buckets(),
              ElementsAre(Pair(big - width / 2, 1), Pair(big, 2), Pair(big + width, 1)));
}

TEST(Histogram, TheLargestNumberHasABucket) {
  const Histogram histogram = Of({kMost});
  EXPECT_EQ(histogram.max(), kMost);
  EXPECT_EQ(histogram.Quantile(1), kMost);
  EXPECT_THAT(histogram.Buckets(), ElementsAre(Pair(kMost - (std::int64_t{1} << 52) + 1, 1)));
}

TEST(Histogram, AQuantileIsTheSmallestValueWithAtLeastThatPartNotLarger) {
  std::vector<std::int64_t> values(100);
  for (int i = 0; i < 100; ++i) values[i] = i + 1;
  const Histogram histogram = Of(values);
  // 0.07 * 100 is a little over 7 in doubles.
  for (const int percent : {1, 7, 50, 90, 99, 100}) {
    EXPECT_EQ(histogram.Quantile(percent / 100.0), percent);
  }
  EXPECT_EQ(histogram.Quantile(0), 1);
  EXPECT_EQ(histogram.Quantile(0.001), 1);
  EXPECT_EQ(histogram.Quantile(0.501), 51);
  EXPECT_EQ(Of({10, 20, 30}).Quantile(0.5), 20);
  EXPECT_EQ(Of({10, 20}).Quantile(0.5), 10);
  EXPECT_EQ(Of({10, 20}).Quantile(0.51), 20);
}

TEST(Histogram, CountsWeighInQuantilesAndMeans) {
  Histogram histogram;
  histogram.Record(10, 99);
  histogram.Record(1000, 1);
  histogram.Record(5, 0);
  EXPECT_EQ(histogram.count(), 100);
  EXPECT_EQ(histogram.min(), 10);
  EXPECT_EQ(histogram.Quantile(0.99), 10);
  EXPECT_EQ(histogram.Quantile(0.991), 1000);
  EXPECT_DOUBLE_EQ(histogram.mean(), 19.9);
}

TEST(Histogram, QuantilesAreNeverUnderAndLessThanAThousandthOver) {
  std::mt19937_64 random(7);
  std::vector<std::int64_t> values(5000);
  for (std::int64_t& value : values) {
    value = static_cast<std::int64_t>(random() >> (1 + random() % 62));
  }
  const Histogram histogram = Of(values);
  std::sort(values.begin(), values.end());
  for (std::size_t rank = 1; rank <= values.size(); rank += 13) {
    const std::int64_t exact = values[rank - 1];
    const std::int64_t told = histogram.Quantile(static_cast<double>(rank) / 5000);
    EXPECT_GE(told, exact);
    EXPECT_LE(static_cast<double>(told - exact), static_cast<double>(exact) / 1024);
  }
  EXPECT_EQ(histogram.min(), values.front());
  EXPECT_EQ(histogram.max(), values.back());
  EXPECT_EQ(histogram.Quantile(1), values.back());
}

TEST(Histogram, MergingIsRecordingTogether) {
  std::mt19937_64 random(8);
  Histogram parts[3];
  Histogram whole;
  for (int i = 0; i < 3000; ++i) {
    const auto value = static_cast<std::int64_t>(random() >> (20 + random() % 40));
    parts[i % 2].Record(value);  // the third stays empty
    whole.Record(value);
  }
  Histogram merged = parts[2];
  for (const Histogram& part : parts) merged.Merge(part);
  EXPECT_EQ(merged, whole);
  merged.Merge(Histogram());
  EXPECT_EQ(merged, whole);
}

TEST(Histogram, SumsAndCountsStopAtTheLargestNumber) {
  Histogram histogram;
  histogram.Record(kMost, 3);
  EXPECT_EQ(histogram.sum(), kMost);
  histogram.Record(1, kMost);
  EXPECT_EQ(histogram.count(), kMost);
  EXPECT_EQ(histogram.Quantile(0.5), 1);
}

TEST(Histogram, ComesBackFromItsBuckets) {
  const Histogram histogram = Of({0, 5, 5, 3001, 99'999'999'999});
  const auto back =
      Histogram::From(histogram.Buckets(), histogram.min(), histogram.max(), histogram.sum());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, histogram);
  EXPECT_EQ(Histogram::From({}, 0, 0, 0).value(), Histogram());
}

TEST(Histogram, DoesNotComeBackFromWhatNoHistogramHas) {
  EXPECT_TRUE(Histogram::From({{2048, 1}}, 2049, 2049, 2049).ok());
  const std::vector<std::vector<Histogram::Bucket>> wrong = {
      {{2049, 1}},            // inside a bucket
      {{2048, 0}},            // empty
      {{2048, -1}},           // fewer than none
      {{-1, 1}},              // negative
      {{4, 1}, {3, 1}},       // descending
      {{2048, 1}, {2048, 1}}  // twice
  };
  for (const auto& buckets : wrong) {
    EXPECT_FALSE(Histogram::From(buckets, 2048, 2048, 2048).ok());
  }
  EXPECT_FALSE(Histogram::From({{2048, 1}}, 2047, 2049, 1).ok());
  EXPECT_FALSE(Histogram::From({{2048, 1}}, 2048, 2050, 1).ok());
  EXPECT_FALSE(Histogram::From({{2048, 1}}, 2049, 2048, 1).ok());
  EXPECT_FALSE(Histogram::From({{2048, 1}}, 2048, 2048, -1).ok());
  EXPECT_FALSE(Histogram::From({}, 0, 1, 0).ok());
}

TEST(HistogramDeathTest, NegativeValuesAreTheCallersError) {
  Histogram histogram;
  EXPECT_DEATH(histogram.Record(-1), "CHECK failed");
}

}  // namespace
}  // namespace banyan::loadtest
