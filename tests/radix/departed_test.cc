// What is remembered of pages that were evicted.
#include "radix/departed.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

constexpr NamespaceId kSpace{1};
constexpr std::int32_t kPages = 60;  // an even number of lines

class DepartedTest : public testing::Test {
 protected:
  // Pages of two tokens with ids from `first` on, behind `before`.
  Departed::Alike Enter(PageId first, std::int32_t pages, TokenId token, PageId before = kNoPage,
                        NamespaceId name_space = kSpace) {
    const Tokens ids = Count(first, static_cast<std::size_t>(pages));
    return departed_.Enter(name_space, before, ids,
                           Count(token, 2 * static_cast<std::size_t>(pages)));
  }
  Departed departed_{kPages};
};

TEST_F(DepartedTest, APageThatNeverLeftIsNotRemembered) {
  const Departed::Alike alike = Enter(0, 3, 10);
  EXPECT_EQ(alike.pages, 3);
  EXPECT_EQ(alike.reuses, 0U);
}

TEST_F(DepartedTest, ComingBackIsOneReuseMore) {
  Enter(0, 3, 10);
  departed_.Leave(2, 0);
  departed_.Leave(1, 4);
  departed_.Leave(0, 4);
  const Departed::Alike first = Enter(5, 3, 10);
  EXPECT_EQ(first.pages, 2);
  EXPECT_EQ(first.reuses, 5U);
  const Departed::Alike rest = Enter(7, 1, 14, 6);
  EXPECT_EQ(rest.pages, 1);
  EXPECT_EQ(rest.reuses, 1U);
}

TEST_F(DepartedTest, APageIsWhatLiesBeforeItToo) {
  Enter(0, 1, 10);
  Enter(1, 1, 20, 0);
  departed_.Leave(1, 0);
  EXPECT_EQ(Enter(2, 1, 20).reuses, 0U) << "at the root";
  EXPECT_EQ(Enter(3, 1, 20, 2).reuses, 0U) << "behind another page";
  EXPECT_EQ(Enter(4, 1, 20, 0).reuses, 1U);
}

TEST_F(DepartedTest, NamespacesAreApart) {
  Enter(0, 1, 10);
  departed_.Leave(0, 0);
  EXPECT_EQ(Enter(1, 1, 10, kNoPage, NamespaceId{2}).reuses, 0U);
  EXPECT_EQ(Enter(2, 1, 10).reuses, 1U);
}

TEST_F(DepartedTest, ATailIsNotRemembered) {
  Enter(0, 1, 10);
  departed_.EnterTail(0);
  departed_.Leave(0, 3);
  EXPECT_EQ(Enter(1, 1, 10).reuses, 0U);
}

TEST_F(DepartedTest, LeavingAgainReplacesWhatWasKnown) {
  Enter(0, 1, 10);
  departed_.Leave(0, 7);
  Enter(0, 1, 10);
  departed_.Leave(0, 2);
  EXPECT_EQ(Enter(0, 1, 10).reuses, 3U);
}

TEST_F(DepartedTest, CountsAreBounded) {
  Enter(0, 1, 10);
  departed_.Leave(0, 1000);
  EXPECT_EQ(Enter(0, 1, 10).reuses, 15U);
}

// The table has kRememberedPools * kPages places, and one line more.
TEST_F(DepartedTest, WhatLeftLongAgoIsForgotten) {
  for (TokenId token = 0; token < 100 * kPages; ++token) {
    Enter(0, 1, 1000 + 2 * token);
    departed_.Leave(0, 0);
  }
  int remembered = 0;
  for (TokenId token = 0; token < 100 * kPages; ++token) {
    remembered += Enter(0, 1, 1000 + 2 * token).reuses > 0 ? 1 : 0;
  }
  EXPECT_LE(remembered, kRememberedPools * kPages + 16);
  EXPECT_GT(remembered, kRememberedPools * kPages * 3 / 4);
  EXPECT_EQ(Enter(0, 1, 1000 + 2 * (100 * kPages - 1)).reuses, 1U) << "the latest";
}

}  // namespace
}  // namespace banyan::radix
