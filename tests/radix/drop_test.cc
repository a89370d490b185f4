// Views that give up pages in their middle. Pages of four tokens, a pool of sixteen.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "radix/prefix_cache.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

using testing::ElementsAre;
using Exactness = PrefixCache::Exactness;

class DropTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_INVARIANTS(cache_); }

  // `exact` tokens that are published, then so many that are not, from 500 on.
  View Lossy(const Tokens& exact, std::size_t more) {
    View view = Compute(cache_, ns_, exact);
    Lose(view, more);
    return view;
  }
  void Lose(View& view, std::size_t more) {
    const auto tokens = static_cast<std::size_t>(view.tokens() - view.gap().dropped * 4);
    GrowTo(cache_, view, tokens + more);
    cache_.Append(view, Count(500, more), Exactness::kInexact);
  }
  std::vector<PageId> Table(const View& view) {
    return {view.page_table().begin(), view.page_table().end()};
  }

  PrefixCache cache_{Options{.page_size = 4, .pages = 16}};
  NamespaceId ns_ = cache_.OpenNamespace("");
};

TEST_F(DropTest, PagesOfItsOwnAreFreeAtOnceAndLeaveTheTable) {
  View view = Lossy(Count(0, 4), 18);
  const std::vector<PageId> before = Table(view);
  cache_.Drop(view, 1, 3);
  EXPECT_THAT(Table(view), ElementsAre(before[0], before[3], before[4], before[5]));
  EXPECT_EQ(view.gap(), (PageGap{.front = 1, .dropped = 2}));
  EXPECT_EQ(view.tokens(), 22) << "those dropped count";
  EXPECT_EQ(cache_.page_state(before[1]), PageState::kFree);
  EXPECT_EQ(cache_.page_state(before[2]), PageState::kFree);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 12);
}

TEST_F(DropTest, TheGapGrows) {
  View view = Lossy(Count(0, 4), 12);
  cache_.Drop(view, 1, 2);
  cache_.Drop(view, 1, 2);
  EXPECT_EQ(view.gap(), (PageGap{.front = 1, .dropped = 1})) << "twice the same is once";
  Lose(view, 9);
  cache_.Drop(view, 1, 6);
  EXPECT_EQ(view.gap(), (PageGap{.front = 1, .dropped = 5}));
  EXPECT_EQ(view.page_table().size(), 2);
  Lose(view, 3);
  EXPECT_EQ(Pages(cache_, PageState::kPrivate), 1) << "what fills up is still its own";
}

TEST_F(DropTest, NothingIsDroppedWhereNothingLies) {
  View view = Lossy(Count(0, 4), 8);
  cache_.Drop(view, 2, 2);
  EXPECT_EQ(view.gap(), PageGap{});
  cache_.Drop(view, 1, 2);
  EXPECT_EQ(view.gap(), (PageGap{.front = 1, .dropped = 1})) << "and the front is still free";
}

TEST_F(DropTest, ALeaseStaysWholeUntilAllBehindTheFrontIsDropped) {
  View view = Lossy(Count(0, 12), 8);
  cache_.Drop(view, 1, 2);
  EXPECT_EQ(view.gap(), PageGap{}) << "a lease of three pages has no holes";
  EXPECT_EQ(view.leased_pages(), 3);
  cache_.Drop(view, 1, 3);
  EXPECT_EQ(view.leased_pages(), 1);
  EXPECT_EQ(view.gap(), (PageGap{.front = 1, .dropped = 2}));
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 12)), 12) << "the tree keeps what it has";
  EXPECT_EQ(cache_.available_pages(), 13) << "and may evict it: but for the front and two pages";
}

TEST_F(DropTest, ALeaseAndPagesOfItsOwnGoTogether) {
  View view = Lossy(Count(0, 12), 13);
  const std::vector<PageId> before = Table(view);
  cache_.Drop(view, 1, 5);
  EXPECT_THAT(Table(view), ElementsAre(before[0], before[5], before[6]));
  EXPECT_EQ(cache_.page_state(before[2]), PageState::kTree);
  EXPECT_EQ(cache_.page_state(before[3]), PageState::kFree);
}

TEST_F(DropTest, ALeaseMayEndAtTheRoot) {
  View view = Lossy(Count(0, 8), 8);
  cache_.Drop(view, 0, 3);
  EXPECT_EQ(view.leased_pages(), 0);
  EXPECT_EQ(view.page_table().size(), 1);
  EXPECT_EQ(cache_.available_pages(), 15);
}

TEST_F(DropTest, AFrontBehindTheLeaseHasPagesOfItsOwn) {
  View view = Lossy(Count(0, 4), 20);
  const std::vector<PageId> before = Table(view);
  cache_.Drop(view, 2, 4);
  EXPECT_THAT(Table(view), ElementsAre(before[0], before[1], before[4], before[5]));
  EXPECT_EQ(view.leased_pages(), 1);
}

TEST_F(DropTest, AShorterLeaseEndsWhereAnEdgeEnds) {
  Cache(cache_, ns_, Count(0, 4) + Count(50, 4));  // splits the edge of the view behind one page
  View view = Lossy(Count(0, 16), 4);
  EXPECT_EQ(cache_.stats().nodes, 3);
  cache_.Drop(view, 1, 4);
  EXPECT_EQ(cache_.stats().nodes, 3) << "an edge ends there already";
  View other = Lossy(Count(0, 16), 4);
  cache_.Drop(other, 2, 4);
  EXPECT_EQ(cache_.stats().nodes, 4) << "and here one was split";
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 16)), 16);
}

TEST_F(DropTest, WhatOthersLeaseStaysPinned) {
  View other = Compute(cache_, ns_, Count(0, 12));
  View view = Lossy(Count(0, 12), 4);
  const std::int64_t available = cache_.available_pages();
  cache_.Drop(view, 1, 3);
  EXPECT_EQ(cache_.available_pages(), available);
  cache_.Close(other, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.available_pages(), available + 2);
}

TEST_F(DropTest, DetachedPagesGoWithTheLastLeaseOverThem) {
  View view = Compute(cache_, ns_, Count(0, 12));
  cache_.Flush(ns_);
  Lose(view, 4);
  EXPECT_EQ(Pages(cache_, PageState::kDetached), 3);
  cache_.Drop(view, 1, 3);
  EXPECT_EQ(Pages(cache_, PageState::kDetached), 1);
  EXPECT_INVARIANTS(cache_);
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 16);
}

TEST_F(DropTest, APageThatACopyReadsOutlivesItsView) {
  View view = Compute(cache_, ns_, Count(0, 7));
  View copier = cache_.Open(ns_, Count(0, 7), 6);
  ASSERT_TRUE(cache_.Grow(copier, 1));
  const PageId source = cache_.PendingCopy(copier)->from;
  ASSERT_EQ(source, view.page_table()[1]);
  Lose(view, 9);
  cache_.Drop(view, 0, 1);
  EXPECT_INVARIANTS(cache_);  // the source is still the first page behind the lease
  cache_.Drop(view, 0, 3);
  EXPECT_EQ(cache_.page_state(source), PageState::kDetached);
  EXPECT_INVARIANTS(cache_);
  cache_.CopyDone(copier);
  EXPECT_EQ(cache_.page_state(source), PageState::kFree);
}

TEST_F(DropTest, NothingOfSuchAViewIsEverFound) {
  View view = Lossy(Count(0, 6), 6);
  cache_.Drop(view, 1, 2);
  EXPECT_FALSE(cache_.Publishes(view));
  const Tokens path = Count(0, 6) + Count(500, 6);
  EXPECT_EQ(cache_.Open(ns_, path, 12).tokens(), 4);
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.MatchLength(ns_, path), 4);
}

TEST_F(DropTest, AViewMovesWithItsGap) {
  View view = Lossy(Count(0, 4), 12);
  cache_.Drop(view, 1, 3);
  View moved = std::move(view);
  EXPECT_EQ(moved.gap(), (PageGap{.front = 1, .dropped = 2}));
  EXPECT_INVARIANTS(cache_);
  moved = Compute(cache_, ns_, Count(0, 4));
  EXPECT_EQ(moved.gap(), PageGap{});
}

}  // namespace
}  // namespace banyan::radix
