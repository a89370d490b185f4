// The simulation without concurrency: blocks counted as papers on traces count them.
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "loadtest/simulate/simulate.h"
#include "tests/loadtest/simulate_fixture.h"

namespace banyan::loadtest {
namespace {

SimulatedRow Simulated(const Workload& workload, std::int32_t page_tokens, std::int64_t pool_pages,
                       radix::Eviction eviction = radix::Eviction::kLru) {
  SimulateOptions options;
  options.serial = true;
  options.page_tokens = page_tokens;
  options.pool_pages = pool_pages;
  options.eviction = eviction;
  auto row = Simulate(workload, options);
  EXPECT_TRUE(row.ok()) << row.status();
  return row.ok() ? *std::move(row) : SimulatedRow();
}

TEST(Serial, ABlockIsAHitWhenItsWholePrefixIsCached) {
  // 2 new; 2 again, of which the last one is short and counts whole; 1 again and 1 new; 7 behind
  // another block than before is new.
  const SimulatedRow row = Simulated(Blocks(8, {{1, 2}, {1, 2}, {1, 7}, {3, 7}}), 8, 0);
  EXPECT_EQ(row.requests, 4);
  EXPECT_EQ(row.prompt_tokens, 8 * 8);
  EXPECT_EQ(row.cached_tokens, 3 * 8);
  EXPECT_DOUBLE_EQ(row.hit_rate, 3.0 / 8);
  EXPECT_FALSE(row.summary.has_value());
  EXPECT_FALSE(row.routing.has_value());
}

TEST(Serial, HitsDoNotDependOnThePageSize) {
  const Workload workload =
      Blocks(8, {{1, 2, 3}, {1, 2, 3}, {1, 7}, {3, 7}, {1, 2, 4, 5}, {1, 2, 4, 5, 6}});
  for (const std::int32_t page : {1, 2, 3, 4, 5, 8, 12, 16, 1024}) {
    EXPECT_EQ(Simulated(workload, page, 0).cached_tokens, (3 + 1 + 2 + 4) * 8) << "page " << page;
  }
}

TEST(Serial, ASmallPoolGivesUpTheLeastRecentlyUsedLeaf) {
  // In four blocks: 1-2 and 3-4 fill it; 1-2 is used; 5 takes the place of 4.
  const Workload workload = Blocks(4, {{1, 2}, {3, 4}, {1, 2}, {5}, {1, 2}, {3, 4}});
  EXPECT_EQ(Simulated(workload, 4, 0).cached_tokens, 6 * 4);
  EXPECT_EQ(Simulated(workload, 4, 4).cached_tokens, 5 * 4);
  EXPECT_EQ(Simulated(workload, 4, 4, radix::Eviction::kFifo).cached_tokens, 4 * 4);
}

TEST(Serial, PromptsLargerThanThePoolAreRefused) {
  const Workload workload = Blocks(4, {{1, 2, 3}, {1, 2, 3}, {1, 2}});
  EXPECT_EQ(Simulated(workload, 4, 2).refused, 2);
  EXPECT_EQ(Simulated(workload, 4, 3).refused, 0);
  EXPECT_EQ(Simulated(workload, 4, 4).refused, 0);
}

// A prompt may fill the pool to the last page although it begins inside a cached one.
TEST(Serial, ACopysSourceIsNotInTheWay) {
  Workload workload =
      Of({Talk({Ask(Tick(0), {{1, 6}, {2, 2}}, 1)}), Talk({Ask(Tick(1), {{1, 6}, {3, 2}}, 1)})});
  const SimulatedRow row = Simulated(workload, 4, 2);
  EXPECT_EQ(row.refused, 0);
  EXPECT_EQ(row.cached_tokens, 4);
  EXPECT_EQ(Simulated(workload, 4, 3).cached_tokens, 6);
}

TEST(Serial, LaterTurnsBringTheAnswersBetween) {
  const Workload workload = Of({Talk({Ask(Tick(0), {{1, 6}}, 5), Ask(std::nullopt, {{2, 4}}, 1)})});
  const SimulatedRow row = Simulated(workload, 2, 0);
  EXPECT_EQ(row.prompt_tokens, 6 + (6 + 5 + 4));
  EXPECT_EQ(row.cached_tokens, 6) << "answers are not kept";
}

TEST(Serial, ComesInTheOrderOfArrival) {
  Workload workload = Of({Talk({Ask(Tick(9), {{1, 4}, {2, 4}}, 1)}),
                          Talk({Ask(Tick(1), {{1, 4}}, 1), Ask(Tick(20), {{5, 4}}, 1)})});
  EXPECT_EQ(Simulated(workload, 4, 0).cached_tokens, 4 + 4);
}

}  // namespace
}  // namespace banyan::loadtest
