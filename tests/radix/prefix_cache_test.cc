// What a prefix cache does for requests, one rule at a time. Pages of four tokens.
#include "radix/prefix_cache.h"

#include <optional>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

class PrefixCacheTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_INVARIANTS(cache_); }

  PrefixCache cache_{Options{.page_size = 4, .pages = 32}};
  NamespaceId ns_ = cache_.OpenNamespace("");
};

// --- Matching ---

TEST_F(PrefixCacheTest, NothingIsCachedAtFirst) {
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 10)), 0);
  EXPECT_EQ(cache_.available_pages(), 32);
  View view = cache_.Open(ns_, Count(0, 10), 9);
  EXPECT_EQ(view.tokens(), 0);
  EXPECT_TRUE(view.page_table().empty());
}

TEST_F(PrefixCacheTest, WholePagesAreSharedAndNotCopied) {
  View first = Compute(cache_, ns_, Count(0, 8));
  View second = cache_.Open(ns_, Count(0, 8), 8);
  EXPECT_EQ(second.tokens(), 8);
  EXPECT_EQ(second.leased_pages(), 2);
  EXPECT_THAT(second.page_table(), ElementsAreArray(first.page_table()));
  EXPECT_FALSE(cache_.PendingCopy(second).has_value());
  EXPECT_EQ(Pages(cache_, PageState::kTree), 2);
}

TEST_F(PrefixCacheTest, TheSamePromptAgainIsCachedButForItsLastToken) {
  for (const std::size_t size : {1U, 3U, 4U, 5U, 7U, 8U, 9U}) {
    const Tokens prompt = Count(static_cast<TokenId>(100 * size), size);
    Cache(cache_, ns_, prompt);
    View again = cache_.Open(ns_, prompt, static_cast<std::int64_t>(size) - 1);
    EXPECT_EQ(again.tokens(), static_cast<std::int64_t>(size) - 1);
  }
}

TEST_F(PrefixCacheTest, PromptsThatDifferInsideAPageShareUpToTheToken) {
  Cache(cache_, ns_, Count(0, 12));
  const Tokens other = Count(0, 6) + Count(70, 6);
  EXPECT_EQ(cache_.MatchLength(ns_, other), 6);
  Cache(cache_, ns_, other);
  EXPECT_EQ(cache_.MatchLength(ns_, other), 12);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 12)), 12);
  EXPECT_EQ(Pages(cache_, PageState::kTree), 5) << "the first page is there once";
}

TEST_F(PrefixCacheTest, OfSiblingsTheOneWithTheLongestCommonRunIsTaken) {
  Cache(cache_, ns_, {1, 2, 3, 4});
  Cache(cache_, ns_, {1, 2, 7, 8});
  Cache(cache_, ns_, {1, 5, 5, 5});
  EXPECT_EQ(cache_.MatchLength(ns_, Tokens{1, 2, 3, 9}), 3);
  EXPECT_EQ(cache_.MatchLength(ns_, Tokens{1, 2, 7, 0}), 3);
  EXPECT_EQ(cache_.MatchLength(ns_, Tokens{1, 2, 5, 5}), 2);
  EXPECT_EQ(cache_.MatchLength(ns_, Tokens{1, 9}), 1);
  EXPECT_EQ(cache_.MatchLength(ns_, Tokens{0, 2, 3, 4}), 0);
}

TEST_F(PrefixCacheTest, NamespacesNeverShare) {
  const NamespaceId other = cache_.OpenNamespace("other");
  Cache(cache_, ns_, Count(0, 8));
  EXPECT_EQ(cache_.MatchLength(other, Count(0, 8)), 0);
  Cache(cache_, other, Count(0, 8));
  EXPECT_EQ(Pages(cache_, PageState::kTree), 4);
  EXPECT_EQ(cache_.stats().namespaces, 2);
}

TEST_F(PrefixCacheTest, ANamespaceIsFoundAgainByItsNameWhateverItsBytes) {
  const std::string_view name("a\0b", 3);
  EXPECT_EQ(cache_.OpenNamespace(name), cache_.OpenNamespace(name));
  EXPECT_NE(cache_.OpenNamespace(name), cache_.OpenNamespace("a"));
  EXPECT_EQ(cache_.OpenNamespace(""), ns_);
}

// --- Copy-on-write ---

TEST_F(PrefixCacheTest, APartlyMatchingPageIsCopied) {
  View first = Compute(cache_, ns_, Count(0, 8));
  View second = cache_.Open(ns_, Count(0, 6) + Count(50, 3), 8);
  EXPECT_EQ(second.tokens(), 6);
  EXPECT_EQ(second.leased_pages(), 1);
  EXPECT_FALSE(cache_.PendingCopy(second).has_value()) << "there is no target yet";

  ASSERT_TRUE(cache_.Grow(second, 2));
  const std::optional<PageCopy> copy = cache_.PendingCopy(second);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->from, first.page_table()[1]);
  EXPECT_EQ(copy->to, second.page_table()[1]);
  EXPECT_EQ(copy->slots, 2);
  EXPECT_EQ(Pages(cache_, PageState::kCopying), 1);
  EXPECT_EQ(Pages(cache_, PageState::kOpen), 1);

  cache_.CopyDone(second);
  EXPECT_FALSE(cache_.PendingCopy(second).has_value());
  EXPECT_EQ(Pages(cache_, PageState::kCopying), 0);
  EXPECT_EQ(Pages(cache_, PageState::kOpen), 2);
  EXPECT_EQ(cache_.stats().copied_pages, 1);
}

TEST_F(PrefixCacheTest, AFullPageBeyondTheLimitIsUsedInPart) {
  Cache(cache_, ns_, Count(0, 8));
  View view = cache_.Open(ns_, Count(0, 8), 7);
  EXPECT_EQ(view.tokens(), 7);
  EXPECT_EQ(view.leased_pages(), 1);
  ASSERT_TRUE(cache_.Grow(view, 1));
  EXPECT_EQ(cache_.PendingCopy(view)->slots, 3);
}

TEST_F(PrefixCacheTest, ALimitOnAPageBorderNeedsNoCopy) {
  Cache(cache_, ns_, Count(0, 8));
  View view = cache_.Open(ns_, Count(0, 8), 4);
  EXPECT_EQ(view.tokens(), 4);
  ASSERT_TRUE(cache_.Grow(view, 1));
  EXPECT_FALSE(cache_.PendingCopy(view).has_value());
}

TEST_F(PrefixCacheTest, ACopyOfOneSlotIsMade) {
  Cache(cache_, ns_, Count(0, 4));
  View view = cache_.Open(ns_, Tokens{0, 9, 9}, 2);
  EXPECT_EQ(view.tokens(), 1);
  ASSERT_TRUE(cache_.Grow(view, 1));
  EXPECT_EQ(cache_.PendingCopy(view)->slots, 1);
}

TEST_F(PrefixCacheTest, AClosedViewGivesUpItsCopy) {
  Cache(cache_, ns_, Count(0, 8));
  View view = cache_.Open(ns_, Count(0, 8), 7);
  EXPECT_EQ(cache_.available_pages(), 30) << "one page leased, one held by the copy";
  ASSERT_TRUE(cache_.Grow(view, 1));
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.available_pages(), 32);
  EXPECT_EQ(Pages(cache_, PageState::kTree), 2) << "nothing was adopted";
}

// --- Publication ---

TEST_F(PrefixCacheTest, PagesArePublishedAsSoonAsTheyAreFull) {
  View view = cache_.Open(ns_, {}, 0);
  ASSERT_TRUE(cache_.Grow(view, 3));
  cache_.Append(view, Count(0, 3));
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 12)), 0);
  cache_.Append(view, Count(3, 1));
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 12)), 4);
  EXPECT_EQ(view.leased_pages(), 1);
  cache_.Append(view, Count(4, 7));
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 12)), 8);
  EXPECT_EQ(Pages(cache_, PageState::kTree), 2);
  EXPECT_EQ(Pages(cache_, PageState::kOpen), 1);
}

TEST_F(PrefixCacheTest, AViewThatLeasesALeafAloneLengthensItsEdge) {
  View view = Compute(cache_, ns_, Count(0, 8));
  GrowTo(cache_, view, 16);
  cache_.Append(view, Count(8, 8));
  EXPECT_EQ(cache_.stats().nodes, 1);
}

TEST_F(PrefixCacheTest, AnotherLeaseOnTheLeafMakesItBranch) {
  View first = Compute(cache_, ns_, Count(0, 8));
  View second = cache_.Open(ns_, Count(0, 8), 8);
  GrowTo(cache_, first, 12);
  cache_.Append(first, Count(8, 4));
  EXPECT_EQ(cache_.stats().nodes, 2);
  EXPECT_EQ(second.leased_pages(), 2);
}

TEST_F(PrefixCacheTest, APageThatTheTreeHasIsDroppedAndTheTreesIsLeased) {
  View first = cache_.Open(ns_, Count(0, 10), 9);
  View second = cache_.Open(ns_, Count(0, 10), 9);
  GrowTo(cache_, first, 10);
  GrowTo(cache_, second, 10);
  cache_.Append(first, Count(0, 10));
  EXPECT_EQ(Pages(cache_, PageState::kFree), 26);
  cache_.Append(second, Count(0, 10));
  EXPECT_EQ(Pages(cache_, PageState::kFree), 28);
  EXPECT_EQ(cache_.stats().deduplicated_pages, 2);
  EXPECT_THAT(second.page_table().first(2), ElementsAreArray(first.page_table().first(2)));
  EXPECT_NE(second.page_table()[2], first.page_table()[2]) << "open pages stay apart";
}

TEST_F(PrefixCacheTest, OnlyThePagesThatTheTreeHasAreDropped) {
  View first = cache_.Open(ns_, {}, 0);
  GrowTo(cache_, first, 12);
  Cache(cache_, ns_, Count(0, 8) + Count(60, 4));
  cache_.Append(first, Count(0, 12));
  EXPECT_EQ(cache_.stats().deduplicated_pages, 2);
  EXPECT_EQ(Pages(cache_, PageState::kTree), 4);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 12)), 12);
}

TEST_F(PrefixCacheTest, InexactSlotsAreNeverShared) {
  View view = Compute(cache_, ns_, Count(0, 6));
  GrowTo(cache_, view, 16);
  cache_.Append(view, Count(6, 1), PrefixCache::Exactness::kInexact);
  cache_.Append(view, Count(7, 6));  // exact, but after inexact ones
  EXPECT_EQ(Pages(cache_, PageState::kPrivate), 2);
  EXPECT_EQ(Pages(cache_, PageState::kTree), 1);
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 13)), 4);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 31);
}

TEST_F(PrefixCacheTest, AppendingNothingChangesNothing) {
  View view = Compute(cache_, ns_, Count(0, 6));
  cache_.Append(view, {});
  EXPECT_EQ(view.tokens(), 6);
  EXPECT_EQ(view.leased_pages(), 1);
}

// --- Tails ---

TEST_F(PrefixCacheTest, ALeafMayEndInAPartialPage) {
  Cache(cache_, ns_, Count(0, 6));
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 20)), 6);
  EXPECT_EQ(cache_.stats().cached_tokens, 6);
  EXPECT_EQ(cache_.stats().nodes, 1);
}

TEST_F(PrefixCacheTest, ADiscardedTailIsFreed) {
  View view = Compute(cache_, ns_, Count(0, 6));
  cache_.Close(view, PrefixCache::Tail::kDiscard);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 20)), 4);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 31);
}

TEST_F(PrefixCacheTest, ADestroyedViewDiscardsItsTail) {
  { const View view = Compute(cache_, ns_, Count(0, 6)); }
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 20)), 4);
}

TEST_F(PrefixCacheTest, ATailThatTheTreeHasIsNotAdopted) {
  View shorter = Compute(cache_, ns_, Count(0, 6));
  View longer = Compute(cache_, ns_, Count(0, 7));
  cache_.Close(longer, PrefixCache::Tail::kAdopt);
  cache_.Close(shorter, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(Pages(cache_, PageState::kTree), 2);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 20)), 7);
}

TEST_F(PrefixCacheTest, ALongerTailReplacesTheShorter) {
  Cache(cache_, ns_, Count(0, 6));
  Cache(cache_, ns_, Count(0, 7));
  EXPECT_EQ(Pages(cache_, PageState::kTree), 2);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 20)), 7);
}

TEST_F(PrefixCacheTest, AFullPageReplacesTheTail) {
  Cache(cache_, ns_, Count(0, 6));
  View view = Compute(cache_, ns_, Count(0, 9));
  EXPECT_EQ(Pages(cache_, PageState::kTree), 2);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 20)), 8);
}

TEST_F(PrefixCacheTest, TailsThatDifferStandSideBySide) {
  Cache(cache_, ns_, Count(0, 6));
  Cache(cache_, ns_, Count(0, 5) + Count(80, 2));
  EXPECT_EQ(Pages(cache_, PageState::kTree), 3);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 6)), 6);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 5) + Count(80, 2)), 7);
}

TEST_F(PrefixCacheTest, AReplacedTailIsDetachedWhileACopyReadsIt) {
  Cache(cache_, ns_, Count(0, 6));
  View reader = cache_.Open(ns_, Count(0, 6), 6);
  ASSERT_TRUE(cache_.Grow(reader, 1));
  Cache(cache_, ns_, Count(0, 8));
  EXPECT_EQ(Pages(cache_, PageState::kDetached), 1);
  cache_.CopyDone(reader);
  EXPECT_EQ(Pages(cache_, PageState::kDetached), 0);
}

TEST_F(PrefixCacheTest, TheAnswerOfOneTurnIsAHitForTheNext) {
  const Tokens question = Count(0, 7);
  const Tokens answer = Count(100, 6);
  View turn = Compute(cache_, ns_, question);
  GrowTo(cache_, turn, 13);
  for (const TokenId token : answer) cache_.Append(turn, {&token, 1});
  cache_.Close(turn, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.MatchLength(ns_, question + answer + Count(200, 5)), 13);
}

// --- Growing ---

TEST_F(PrefixCacheTest, GrowGivesAllPagesOrNone) {
  View view = cache_.Open(ns_, {}, 0);
  EXPECT_FALSE(cache_.Grow(view, 33));
  EXPECT_TRUE(view.page_table().empty());
  EXPECT_EQ(cache_.available_pages(), 32);
  EXPECT_TRUE(cache_.Grow(view, 31));
  EXPECT_FALSE(cache_.Grow(view, 2));
  EXPECT_TRUE(cache_.Grow(view, 1));
  EXPECT_TRUE(cache_.Grow(view, 0));
  EXPECT_EQ(cache_.available_pages(), 0);
}

TEST_F(PrefixCacheTest, LeasedPagesAreNotAvailable) {
  View view = Compute(cache_, ns_, Count(0, 8));
  EXPECT_EQ(cache_.available_pages(), 30);
  EXPECT_EQ(cache_.stats().evictable, 0);
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.available_pages(), 32);
  EXPECT_EQ(cache_.stats().evictable, 2);
}

TEST_F(PrefixCacheTest, ALeaseOnPartOfAnEdgeLeavesTheRestAvailable) {
  Cache(cache_, ns_, Count(0, 40));
  View view = cache_.Open(ns_, Count(0, 8), 8);
  EXPECT_EQ(cache_.stats().nodes, 2) << "the edge was split where the lease ends";
  EXPECT_EQ(cache_.stats().evictable, 8);
}

// --- Views as values ---

TEST_F(PrefixCacheTest, AMovedViewTakesItsPagesAlong) {
  View first = Compute(cache_, ns_, Count(0, 6));
  const Tokens pages(first.page_table().begin(), first.page_table().end());
  View second = std::move(first);
  EXPECT_FALSE(first.is_open());  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(second.is_open());
  EXPECT_EQ(second.tokens(), 6);
  EXPECT_THAT(second.page_table(), ElementsAreArray(pages));
  EXPECT_INVARIANTS(cache_);
}

TEST_F(PrefixCacheTest, AssigningToAnOpenViewClosesIt) {
  View view = Compute(cache_, ns_, Count(0, 6));
  view = cache_.Open(ns_, {}, 0);
  EXPECT_EQ(Pages(cache_, PageState::kOpen), 0);
  EXPECT_EQ(cache_.available_pages(), 32);
}

// --- Programmer's errors ---

using PrefixCacheDeathTest = PrefixCacheTest;

TEST_F(PrefixCacheDeathTest, MoreTokensThanPages) {
  View view = cache_.Open(ns_, {}, 0);
  ASSERT_TRUE(cache_.Grow(view, 1));
  EXPECT_DEATH(cache_.Append(view, Count(0, 5)), "CHECK failed");
}

TEST_F(PrefixCacheDeathTest, AppendingBeforeTheCopyIsDone) {
  Cache(cache_, ns_, Count(0, 4));
  View view = cache_.Open(ns_, Count(0, 4), 3);
  ASSERT_TRUE(cache_.Grow(view, 1));
  EXPECT_DEATH(cache_.Append(view, Count(3, 1)), "CHECK failed");
}

TEST_F(PrefixCacheDeathTest, ClosingTwice) {
  View view = Compute(cache_, ns_, Count(0, 4));
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  EXPECT_DEATH(cache_.Close(view, PrefixCache::Tail::kAdopt), "CHECK failed");
}

TEST(PrefixCacheBoundsDeathTest, OptionsAreChecked) {
  EXPECT_DEATH(PrefixCache(Options{.page_size = 0, .pages = 1}), "CHECK failed");
  EXPECT_DEATH(PrefixCache(Options{.page_size = 1025, .pages = 1}), "CHECK failed");
  EXPECT_DEATH(PrefixCache(Options{.page_size = 16, .pages = 0}), "CHECK failed");
  const PrefixCache smallest(Options{.page_size = 1, .pages = 1});
  const PrefixCache largest(Options{.page_size = 1024, .pages = 1});
  EXPECT_EQ(smallest.available_pages(), largest.available_pages());
}

}  // namespace
}  // namespace banyan::radix
