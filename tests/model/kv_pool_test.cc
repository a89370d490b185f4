#include "model/kv_pool.h"

#include <gtest/gtest.h>

#include "base/limits.h"

namespace banyan::model {
namespace {

TEST(PagesThatFit, WholePagesAtLeastOneAtMostTheBound) {
  EXPECT_EQ(PagesThatFit(0, 100), 1);
  EXPECT_EQ(PagesThatFit(199, 100), 1);
  EXPECT_EQ(PagesThatFit(200, 100), 2);
  EXPECT_EQ(PagesThatFit(std::int64_t{kMaxPages} * 8 - 1, 8), kMaxPages - 1);
  EXPECT_EQ(PagesThatFit(std::int64_t{kMaxPages} * 8, 8), kMaxPages);
  EXPECT_EQ(PagesThatFit(std::int64_t{kMaxPages} * 8 + 8, 8), kMaxPages);
}

}  // namespace
}  // namespace banyan::model
