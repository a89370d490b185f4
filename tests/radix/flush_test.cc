// Flushing a namespace while requests work on it. Pages of four tokens, a pool of sixteen.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "radix/prefix_cache.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

using testing::ElementsAreArray;

class FlushTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_INVARIANTS(cache_); }

  PrefixCache cache_{Options{.page_size = 4, .pages = 16}};
  NamespaceId ns_ = cache_.OpenNamespace("");
};

TEST_F(FlushTest, WhatNobodyLeasesIsFree) {
  Cache(cache_, ns_, Count(0, 10));
  Cache(cache_, ns_, Count(0, 4) + Count(50, 9));
  cache_.Flush(ns_);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 10)), 0);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 16);
  EXPECT_EQ(cache_.stats().nodes, 0);
  EXPECT_EQ(cache_.stats().cached_tokens, 0);
}

TEST_F(FlushTest, OtherNamespacesStay) {
  const NamespaceId other = cache_.OpenNamespace("other");
  Cache(cache_, ns_, Count(0, 8));
  Cache(cache_, other, Count(0, 8));
  cache_.Flush(ns_);
  EXPECT_EQ(cache_.MatchLength(other, Count(0, 8)), 8);
}

TEST_F(FlushTest, LeasedPagesAreDetachedAndFreedWithTheirLastLease) {
  View first = Compute(cache_, ns_, Count(0, 8));
  View second = cache_.Open(ns_, Count(0, 4), 4);
  const Tokens pages(first.page_table().begin(), first.page_table().end());
  cache_.Flush(ns_);
  EXPECT_EQ(Pages(cache_, PageState::kDetached), 2);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 8)), 0);
  EXPECT_THAT(first.page_table(), ElementsAreArray(pages)) << "still readable";
  EXPECT_INVARIANTS(cache_);
  cache_.Close(first, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(Pages(cache_, PageState::kDetached), 1) << "the second leases the first page";
  cache_.Close(second, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 16);
}

TEST_F(FlushTest, AViewOpenedBeforePublishesNothingMore) {
  View view = Compute(cache_, ns_, Count(0, 6));
  cache_.Flush(ns_);
  GrowTo(cache_, view, 13);
  cache_.Append(view, Count(6, 7));
  EXPECT_EQ(Pages(cache_, PageState::kPrivate), 2);
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 13)), 0);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 16);
}

TEST_F(FlushTest, NeitherDoesOneThatHadLeasedNothingYet) {
  View view = cache_.Open(ns_, Count(0, 4), 3);
  cache_.Flush(ns_);
  GrowTo(cache_, view, 4);
  cache_.Append(view, Count(0, 4));
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 4)), 0);
}

TEST_F(FlushTest, TheNamespaceFillsAgain) {
  View old = Compute(cache_, ns_, Count(0, 8));
  cache_.Flush(ns_);
  Cache(cache_, ns_, Count(0, 8));
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 8)), 8);
  EXPECT_EQ(Pages(cache_, PageState::kDetached), 2);
  EXPECT_EQ(Pages(cache_, PageState::kTree), 2);
}

TEST_F(FlushTest, ACopysSourceIsDetachedUntilTheCopyIsDone) {
  Cache(cache_, ns_, Count(0, 8));
  View view = cache_.Open(ns_, Count(0, 8), 7);
  ASSERT_TRUE(cache_.Grow(view, 1));
  cache_.Flush(ns_);
  EXPECT_EQ(Pages(cache_, PageState::kDetached), 2) << "the leased page and the source";
  EXPECT_INVARIANTS(cache_);
  cache_.CopyDone(view);
  EXPECT_EQ(Pages(cache_, PageState::kDetached), 1);
}

TEST_F(FlushTest, ASourceThatIsAlsoLeasedStaysUntilBothEnd) {
  for (const bool copy_ends_first : {true, false}) {
    View holder = Compute(cache_, ns_, Count(0, 4));
    View copier = cache_.Open(ns_, Count(0, 4), 3);
    ASSERT_TRUE(cache_.Grow(copier, 1));
    cache_.Flush(ns_);
    EXPECT_EQ(Pages(cache_, PageState::kDetached), 1);
    View& ends_first = copy_ends_first ? copier : holder;
    View& ends_last = copy_ends_first ? holder : copier;
    cache_.Close(ends_first, PrefixCache::Tail::kDiscard);
    EXPECT_EQ(Pages(cache_, PageState::kDetached), 1);
    EXPECT_INVARIANTS(cache_);
    cache_.Close(ends_last, PrefixCache::Tail::kDiscard);
    EXPECT_EQ(Pages(cache_, PageState::kFree), 16);
  }
}

}  // namespace
}  // namespace banyan::radix
