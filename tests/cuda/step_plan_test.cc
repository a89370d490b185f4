// What a step's layers share: made once, and anew where another step begins.

#include "kernels/cuda/step_plan.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/staging.h"
#include "kernels/kv_shape.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda::testing {
namespace {

using ::testing::ElementsAre;

constexpr KvShape kShape{.layers = 4, .kv_heads = 1, .head_dim = 8, .page_size = 16, .pages = 100};

// The plan's tables as the device has them.
std::vector<std::int32_t> Tables(const StepPlan::Attention& plan) {
  std::vector<std::int32_t> tables(plan.host.tables.size());
  std::memcpy(tables.data(), plan.device.tables, tables.size() * sizeof(tables[0]));
  return tables;
}

struct OneRow {
  explicit OneRow(std::int32_t page) : pages{page} {}
  std::vector<std::int32_t> pages;
  RowRun run{.rows = 1, .first_position = 3, .pages = pages};
  std::span<const RowRun> runs() const { return {&run, 1}; }
};

class StepPlans : public ::testing::Test {
 protected:
  std::vector<std::int32_t> TablesOf(std::int64_t window = 0) {
    return Tables(plan_.Of(kShape, window, 1));
  }

  Staging staging_{nullptr};
  StepPlan plan_{staging_};
};

// A table that changes within a step, as none may, shows who looks at it.
TEST_F(StepPlans, AreMadeOncePerStepAndWindow) {
  OneRow row(5);
  plan_.Store(row.runs(), 0);
  EXPECT_THAT(TablesOf(), ElementsAre(5));
  row.pages[0] = 6;
  plan_.Attend(row.runs(), 0);
  EXPECT_THAT(TablesOf(9), ElementsAre(6));
  row.pages[0] = 7;
  for (const std::int32_t layer : {1, 2, 3}) {
    plan_.Store(row.runs(), layer);
    EXPECT_THAT(TablesOf(), ElementsAre(5));
    plan_.Attend(row.runs(), layer);
    EXPECT_THAT(TablesOf(9), ElementsAre(6));
  }
}

TEST_F(StepPlans, AreMadeAnewWhereAStepBegins) {
  OneRow row(1);
  plan_.Store(row.runs(), 0);
  EXPECT_THAT(TablesOf(), ElementsAre(1));
  row.pages[0] = 2;
  plan_.Store(row.runs(),
              0);  // of a model of one layer, or behind a step that failed in it
  EXPECT_THAT(TablesOf(), ElementsAre(2));
  plan_.Store(row.runs(), 1);
  row.pages[0] = 3;
  plan_.Store(row.runs(), 0);
  EXPECT_THAT(TablesOf(), ElementsAre(3));
  EXPECT_THAT(TablesOf(9), ElementsAre(3));
  const OneRow other(4);
  plan_.Store(other.runs(), 1);
  EXPECT_THAT(TablesOf(), ElementsAre(4));
}

TEST_F(StepPlans, OfRunsThatAreOnlyAttendedToAreTheirOwn) {
  OneRow row(1);
  plan_.Store(row.runs(), 0);
  EXPECT_THAT(TablesOf(), ElementsAre(1));
  const OneRow other(2);
  plan_.Attend(other.runs(), 0);
  EXPECT_THAT(TablesOf(), ElementsAre(2));
  plan_.Attend(row.runs(), 0);
  EXPECT_THAT(TablesOf(), ElementsAre(1));
  row.pages[0] = 3;
  plan_.Attend(row.runs(), 0);
  EXPECT_THAT(TablesOf(), ElementsAre(3));
}

TEST_F(StepPlans, HaveAnglesOfEachRopeAndPosition) {
  const Rope far{.dims = 2, .scale = 0.5F};
  const Rope near{.dims = 2};
  OneRow row(1);
  plan_.Store(row.runs(), 0);
  const float* of_far = plan_.Angles(far, nullptr);
  const float* of_near = plan_.Angles(near, nullptr);
  EXPECT_FLOAT_EQ(of_far[0], std::cos(1.5F));
  EXPECT_FLOAT_EQ(of_near[0], std::cos(3.0F));
  plan_.Store(row.runs(), 1);
  EXPECT_EQ(plan_.Angles(far, nullptr), of_far);
  EXPECT_EQ(plan_.Angles(near, nullptr), of_near);
  row.run.first_position = 4;
  plan_.Store(row.runs(), 0);
  EXPECT_FLOAT_EQ(plan_.Angles(near, nullptr)[0], std::cos(4.0F));
  EXPECT_FLOAT_EQ(plan_.Angles(far, nullptr)[0], std::cos(2.0F));
}

TEST(PackedArrays, ArriveWhereTheyAreSaidToBe) {
  Staging staging(nullptr);
  DeviceBuffer memory;
  const std::vector<std::int32_t> numbers = {1, 2, 3};
  const std::vector<double> others = {0.5, 0.25};
  // Often enough that the ring comes round; of more than the ring, too.
  for (const std::size_t bytes : {Staging::kRingBytes / 4, Staging::kRingBytes}) {
    std::vector<std::int32_t> many(bytes / sizeof(std::int32_t));
    for (int i = 0; i < 4; ++i) {
      std::iota(many.begin(), many.end(), i);
      PackedArrays arrays;
      const auto first = arrays.Add<std::int32_t>(numbers);
      const auto second = arrays.Add<std::int32_t>(many);
      const auto none = arrays.Add<double>({});
      const auto last = arrays.Add<double>(others);
      const std::byte* at = staging.Upload(memory, arrays);
      EXPECT_EQ(std::memcmp(first.From(at), numbers.data(), 12), 0);
      EXPECT_EQ(std::memcmp(second.From(at), many.data(), bytes), 0);
      EXPECT_EQ(none.From(at), last.From(at));
      EXPECT_EQ(std::memcmp(last.From(at), others.data(), 16), 0);
    }
  }
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
