// The published traces through the real tree, against figures that were counted without it: over
// blocks of 512 tokens, a hit being a block whose whole prefix is cached, insertion at arrival, no
// concurrency. Built where the tree's invariants are not checked after every change.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "loadtest/simulate/simulate.h"
#include "loadtest/workload/trace.h"

namespace banyan::loadtest {
namespace {

Workload Read(const std::string& name) {
  const char* tests = std::getenv("BANYAN_TESTDATA");
  EXPECT_NE(tests, nullptr);
  auto workload =
      ReadTrace(std::string(tests) + "/../loadtest/traces/mooncake_" + name + ".jsonl.xz", {});
  EXPECT_TRUE(workload.ok()) << workload.status();
  return workload.ok() ? *std::move(workload) : Workload();
}

struct Expected {
  std::int64_t pool_pages;
  double lru;    // of leaves, as in a tree
  double reuse;  // 0: not known
};

class Facts : public testing::Test {
 protected:
  static double HitRate(const Workload& workload, std::int32_t page_tokens, std::int64_t pool,
                        radix::Eviction eviction) {
    SimulateOptions options;
    options.serial = true;
    options.page_tokens = page_tokens;
    options.pool_pages = pool;
    options.eviction = eviction;
    const auto row = Simulate(workload, options);
    EXPECT_TRUE(row.ok()) << row.status();
    return row.ok() ? row->hit_rate : -1;
  }

  static void Check(const Workload& workload, double unlimited,
                    const std::vector<Expected>& expected) {
    for (const std::int32_t page : {512, 128}) {
      EXPECT_NEAR(HitRate(workload, page, 0, radix::Eviction::kLru), unlimited, 0.00005);
    }
    for (const Expected& row : expected) {
      EXPECT_NEAR(HitRate(workload, 512, row.pool_pages, radix::Eviction::kLru), row.lru, 0.005)
          << row.pool_pages;
      if (row.reuse == 0) continue;
      EXPECT_NEAR(HitRate(workload, 512, row.pool_pages, radix::Eviction::kReuse), row.reuse, 0.012)
          << row.pool_pages;
    }
  }
};

TEST_F(Facts, OfTheConversationTrace) {
  const Workload workload = Read("conversation");
  EXPECT_EQ(CountTurns(workload), 12'031);
  Check(workload, 0.3664,
        {{100'000, 0.3637, 0},
         {50'000, 0.3546, 0},
         {30'000, 0.3257, 0},
         {10'000, 0.2116, 0.2321},
         {3'000, 0.0653, 0.1316},
         {1'000, 0.0445, 0}});
}

TEST_F(Facts, OfTheSyntheticTrace) {
  const Workload workload = Read("synthetic");
  EXPECT_EQ(CountTurns(workload), 3'993);
  Check(workload, 0.6396,
        {{100'000, 0.6396, 0},
         {50'000, 0.6396, 0},
         {30'000, 0.6242, 0},
         {10'000, 0.4239, 0.4373},
         {3'000, 0.1906, 0.1844},
         {1'000, 0.0841, 0}});
}

}  // namespace
}  // namespace banyan::loadtest
