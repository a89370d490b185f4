// Bounds of a page's keys against all its keys, and what a query makes of them against double
// precision.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cpu/key_bounds.h"
#include "kernels/cpu/page_bounds.h"
#include "kernels/cpu/variants.h"
#include "kernels/small_floats.h"
#include "tests/kernels/observed.h"

namespace banyan::kernels::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr std::int32_t kDims = Observed::kHeadDim;
using Numbers = std::vector<std::uint16_t>;

Numbers Bf16Of(const Row& row) {
  Numbers numbers;
  for (const float x : row) numbers.push_back(FloatToBf16(x));
  return numbers;
}

// Of one query, by the set of instructions under test.
float BoundScore(const Row& q, const Numbers& least, const Numbers& greatest) {
  Row above;
  Row below;
  for (const float x : q) {
    above.push_back(x > 0 ? x : 0.0F);
    below.push_back(x - above.back());
  }
  const BoundQueries queries = {above.data(), below.data(), 1, static_cast<int>(q.size())};
  return FindCpuVariant(TestedVariant())->ops->score_bounds(queries, least.data(), greatest.data());
}

class KeyBounds : public ::testing::TestWithParam<ObservedKind> {
 protected:
  // A page of a sequence that fills several.
  void SetUp() override { Fill(observed_); }
  void Fill(Observed& observed) {
    table_ = observed.Take(90);
    observed.Run({.rows = 90, .pages = table_});
  }
  struct Bounds {
    Numbers least = Numbers(kDims);
    Numbers greatest = Numbers(kDims);
  };
  static Bounds Read(const Observed& observed, std::int32_t page, std::int32_t layer,
                     std::int32_t head) {
    Bounds bounds;
    ReadKeyBounds(*FindCpuVariant(TestedVariant())->ops, observed.pages, page, layer, head,
                  bounds.least.data(), bounds.greatest.data());
    return bounds;
  }

  Observed observed_{GetParam()};
  std::vector<std::int32_t> table_;
};
INSTANTIATE_TEST_SUITE_P(
    Kinds, KeyBounds,
    ::testing::Values(ObservedKind{KvFormat::kF16, 1}, ObservedKind{KvFormat::kF16, 5},
                      ObservedKind{KvFormat::kF16, 16}, ObservedKind{KvFormat::kF16, 24},
                      ObservedKind{KvFormat::kF16, 64}, ObservedKind{KvFormat::kBf16, 16},
                      ObservedKind{KvFormat::kFp8, 16}, ObservedKind{KvFormat::kFp8, 5},
                      ObservedKind{KvFormat::kInt8, 16}, ObservedKind{KvFormat::kInt8, 5}),
    [](const auto& test) {
      return std::string(LayoutOf(test.param.format).name) + "_" +
             std::to_string(test.param.page_size);
    });

TEST_P(KeyBounds, AreThoseOfAllKeysAndLessThanABf16Away) {
  for (const std::int32_t page : {table_[0], table_[90 / GetParam().page_size - 1]}) {
    for (std::int32_t layer = 0; layer < Observed::kLayers; ++layer) {
      for (std::int32_t head = 0; head < Observed::kKvHeads; ++head) {
        const Bounds bounds = Read(observed_, page, layer, head);
        for (std::size_t d = 0; d < kDims; ++d) {
          double least = kInfinity;
          double greatest = -kInfinity;
          for (std::int32_t slot = 0; slot < GetParam().page_size; ++slot) {
            const double number = observed_.Key(page, layer, head, slot)[d];
            least = std::min(least, number);
            greatest = std::max(greatest, number);
          }
          const double low = Bf16ToFloat(bounds.least[d]);
          const double high = Bf16ToFloat(bounds.greatest[d]);
          EXPECT_LE(low, least);
          EXPECT_GE(high, greatest);
          EXPECT_GT(low, least - std::fabs(least) / 127 - 1e-30);
          EXPECT_LT(high, greatest + std::fabs(greatest) / 127 + 1e-30);
        }
      }
    }
  }
}

TEST_P(KeyBounds, OfAKeyThatIsNotFiniteAreNoNumbers) {
  Observed observed(GetParam());
  observed.SpoilKey(GetParam().page_size);
  Fill(observed);
  const Bounds bounds = Read(observed, table_[1], 1, 1);
  for (std::size_t d = 0; d < kDims; ++d) {
    EXPECT_TRUE(std::isnan(Bf16ToFloat(bounds.least[d])));
    EXPECT_TRUE(std::isnan(Bf16ToFloat(bounds.greatest[d])));
  }
  EXPECT_TRUE(std::isfinite(Bf16ToFloat(Read(observed, table_[0], 1, 1).least[0])));
}

TEST_P(KeyBounds, AreKnownUntilThePageIsWritten) {
  ThreadPool pool(3);
  PageBounds bounds(*FindCpuVariant(TestedVariant())->ops, pool);
  bounds.Forget(table_[0]);  // nobody has asked yet
  const std::int32_t wanted[] = {table_[0], table_[1], table_[0]};
  const auto least = [&](std::int32_t page, std::int32_t layer) {
    return Numbers(bounds.Least(page, layer, 1), bounds.Least(page, layer, 1) + kDims);
  };
  const auto read = [&] {
    for (const std::int32_t layer : {0, 1}) bounds.Read(observed_.pages, layer, wanted);
  };
  read();
  const Numbers other = Read(observed_, table_[1], 0, 1).least;
  for (const std::int32_t page : {table_[0], table_[1]}) {
    for (const std::int32_t layer : {0, 1}) {
      const Bounds expected = Read(observed_, page, layer, 1);
      EXPECT_EQ(least(page, layer), expected.least);
      EXPECT_EQ(Numbers(bounds.Greatest(page, layer, 1), bounds.Greatest(page, layer, 1) + kDims),
                expected.greatest);
    }
  }
  const Numbers before[] = {least(table_[0], 0), least(table_[0], 1)};
  observed_.pages.CopySlots({table_[1], table_[0], GetParam().page_size});
  read();
  EXPECT_EQ(least(table_[0], 0), before[0]) << "known";
  bounds.Forget(table_[0], 0);
  read();
  EXPECT_EQ(least(table_[0], 0), other);
  EXPECT_EQ(least(table_[0], 1), before[1]);
  bounds.Forget(table_[0]);
  read();
  EXPECT_NE(least(table_[0], 1), before[1]);
}

TEST(BoundScores, AgreeWithDoublePrecision) {
  for (const int dims : {8, 24, 64}) {
    const Row q = RandomRows(1, dims, 1)[0];
    Row low = RandomRows(1, dims, 2)[0];
    Row high = RandomRows(1, dims, 3)[0];
    double expected = 0;
    for (int d = 0; d < dims; ++d) {
      if (low[d] > high[d]) std::swap(low[d], high[d]);
      low[d] = Bf16ToFloat(FloatToBf16(low[d]));
      high[d] = Bf16ToFloat(FloatToBf16(high[d]));
      expected += static_cast<double>(q[d]) * (q[d] > 0 ? high[d] : low[d]);
    }
    EXPECT_NEAR(BoundScore(q, Bf16Of(low), Bf16Of(high)), expected, 1e-5);
  }
}

TEST(BoundScores, NoKeyOfAPageHasMore) {
  Observed observed({.format = KvFormat::kF16, .page_size = 16});
  const auto table = observed.Take(64);
  observed.Run({.rows = 64, .pages = table});
  Numbers least(kDims);
  Numbers greatest(kDims);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const Row q = RandomRows(1, kDims, seed)[0];
    for (const std::int32_t page : table) {
      ReadKeyBounds(*FindCpuVariant(TestedVariant())->ops, observed.pages, page, 0, 0, least.data(),
                    greatest.data());
      const float score = BoundScore(q, least, greatest);
      for (std::int32_t slot = 0; slot < 16; ++slot) {
        double product = 0;
        const std::vector<double> key = observed.Key(page, 0, 0, slot);
        for (std::size_t d = 0; d < kDims; ++d) product += static_cast<double>(q[d]) * key[d];
        EXPECT_LE(product, score + 1e-5);
      }
    }
  }
}

TEST(BoundScores, WhatIsNotFiniteIsTheGreatest) {
  const Row ones(8, 1.0F);
  for (const float odd : {kNaN, kInfinity, -kInfinity}) {
    Row row = ones;
    row[3] = odd;
    EXPECT_EQ(BoundScore(row, Bf16Of(ones), Bf16Of(ones)), kInfinity);
    EXPECT_EQ(BoundScore(ones, Bf16Of(row), Bf16Of(row)), kInfinity);
  }
}

}  // namespace
}  // namespace banyan::kernels::testing
