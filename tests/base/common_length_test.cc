#include "base/common_length.h"

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace banyan {
namespace {

TEST(CommonLength, IsExactAroundTheStrideOfItsComparison) {
  for (const std::size_t size : {0U, 1U, 63U, 64U, 65U, 127U, 128U, 129U, 200U}) {
    std::vector<TokenId> a(size);
    std::iota(a.begin(), a.end(), 0);
    std::vector<TokenId> longer = a;
    longer.push_back(7);
    EXPECT_EQ(CommonLength(a, longer), static_cast<std::int32_t>(size));
    EXPECT_EQ(CommonLength(longer, a), static_cast<std::int32_t>(size));
    for (std::size_t at = 0; at < size; ++at) {
      std::vector<TokenId> b = a;
      b[at] = -1;
      ASSERT_EQ(CommonLength(a, b), static_cast<std::int32_t>(at));
    }
  }
}

}  // namespace
}  // namespace banyan
