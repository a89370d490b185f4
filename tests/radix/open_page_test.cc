// Copying from pages that other views still write, and what may become of such a page while a copy
// reads it. Pages of four tokens, a pool of sixteen.
#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

class OpenPageTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_INVARIANTS(cache_); }

  View OpenAll(const Tokens& tokens) {
    return cache_.Open(ns_, tokens, static_cast<std::int64_t>(tokens.size()));
  }
  // A view with the target of its copy, which is still to be made.
  View Copier(const Tokens& tokens) {
    View view = OpenAll(tokens);
    EXPECT_TRUE(cache_.Grow(view, 1));
    EXPECT_TRUE(cache_.PendingCopy(view).has_value());
    return view;
  }
  PageId SourceOf(const View& view) const { return cache_.PendingCopy(view)->from; }

  PrefixCache cache_{Options{.page_size = 4, .pages = 16}};
  NamespaceId ns_ = cache_.OpenNamespace("");
};

// --- What is copied ---

TEST_F(OpenPageTest, ItsValidSlotsAreCopied) {
  View producer = Compute(cache_, ns_, Count(0, 6));
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 9)), 4) << "in the tree";
  View view = OpenAll(Count(0, 9));
  EXPECT_EQ(view.tokens(), 6);
  EXPECT_EQ(view.leased_pages(), 1);
  EXPECT_FALSE(cache_.PendingCopy(view).has_value()) << "there is no target yet";
  ASSERT_TRUE(cache_.Grow(view, 2));
  const std::optional<PageCopy> copy = cache_.PendingCopy(view);
  ASSERT_TRUE(copy.has_value());
  EXPECT_EQ(copy->from, producer.page_table()[1]);
  EXPECT_EQ(copy->to, view.page_table()[1]);
  EXPECT_EQ(copy->slots, 2);
  EXPECT_EQ(cache_.page_state(copy->from), PageState::kOpen);
}

TEST_F(OpenPageTest, IdenticalPromptsTogetherComputeTheirTokensOnce) {
  for (const std::size_t size : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 13U}) {
    const Tokens prompt = Count(static_cast<TokenId>(100 * size), size);
    std::vector<View> views;
    std::int64_t computed = 0;
    for (int i = 0; i < 8; ++i) {
      View& view = views.emplace_back(
          cache_.Open(ns_, prompt, static_cast<std::int64_t>(prompt.size()) - 1));
      computed += static_cast<std::int64_t>(size) - view.tokens();
      GrowTo(cache_, view, size);
      cache_.Append(view, Rest(prompt, view.tokens()));
    }
    EXPECT_EQ(computed, size + 8 - 1) << size;
  }
}

TEST_F(OpenPageTest, OnlyWhatBothHaveIsCopied) {
  View producer = Compute(cache_, ns_, Count(0, 7));
  EXPECT_EQ(OpenAll(Count(0, 5) + Tokens{99}).tokens(), 5);
  EXPECT_EQ(OpenAll(Count(0, 4) + Tokens{99}).tokens(), 4);
  EXPECT_EQ(cache_.Open(ns_, Count(0, 7), 6).tokens(), 6) << "at most what was asked for";
  EXPECT_EQ(cache_.Open(ns_, Count(0, 7), 4).tokens(), 4);
}

TEST_F(OpenPageTest, TheOneWithMostOfTheTokensIsTheSource) {
  View none = OpenAll({});
  View other = Compute(cache_, ns_, {1, 9, 9});
  View longest = Compute(cache_, ns_, {1, 2, 3});
  View shorter = OpenAll({});
  GrowTo(cache_, shorter, 2);
  cache_.Append(shorter, Tokens{1, 2});
  View view = Copier({1, 2, 3, 4});
  EXPECT_EQ(view.tokens(), 3);
  EXPECT_EQ(SourceOf(view), longest.page_table()[0]);
}

TEST_F(OpenPageTest, TheTreesPageIsTheSourceUnlessAnOpenOneHasMore) {
  View producer = OpenAll({});
  GrowTo(cache_, producer, 3);
  cache_.Append(producer, Tokens{1, 2});
  Cache(cache_, ns_, {1, 2, 8, 8});
  View as_good = Copier({1, 2, 3});
  EXPECT_NE(SourceOf(as_good), producer.page_table()[0]);
  EXPECT_EQ(Pages(cache_, PageState::kTree), 1);
  cache_.Append(producer, Tokens{3});
  View better = Copier({1, 2, 3});
  EXPECT_EQ(better.tokens(), 3);
  EXPECT_EQ(SourceOf(better), producer.page_table()[0]);
}

TEST_F(OpenPageTest, AWholePageOfTheTreeIsBetterThanAnyOpenOne) {
  View producer = OpenAll({});
  GrowTo(cache_, producer, 3);
  cache_.Append(producer, Count(0, 3));
  Cache(cache_, ns_, Count(0, 8));
  EXPECT_EQ(OpenAll(Count(0, 6)).tokens(), 6);
  EXPECT_EQ(OpenAll(Count(0, 6)).leased_pages(), 1);
}

TEST_F(OpenPageTest, ItIsLookedForBelowASplitEdgeToo) {
  Cache(cache_, ns_, Count(0, 12));
  View producer = Compute(cache_, ns_, Count(0, 8) + Count(50, 2));  // splits behind 8
  View splitter = OpenAll(Count(0, 4));                              // and behind 4
  EXPECT_EQ(OpenAll(Count(0, 8) + Count(50, 4)).tokens(), 10);
}

TEST_F(OpenPageTest, AfterTheProducersPageFilledUpTheNextOneCounts) {
  View producer = Compute(cache_, ns_, Count(0, 3));
  GrowTo(cache_, producer, 8);
  cache_.Append(producer, Count(3, 2));
  EXPECT_EQ(OpenAll(Count(0, 8)).tokens(), 5);
}

TEST_F(OpenPageTest, AMovedProducerIsFoundWhereItIsNow) {
  std::vector<View> views(3);
  views[0] = Compute(cache_, ns_, {1, 1});
  views[1] = Compute(cache_, ns_, {2, 2, 2});
  views[2] = Compute(cache_, ns_, {3, 3, 3});
  views.reserve(2 * views.capacity());  // moves all
  std::swap(views[0], views[2]);
  EXPECT_INVARIANTS(cache_);
  views.erase(views.begin() + 1);
  EXPECT_EQ(OpenAll({2, 2, 2, 2}).tokens(), 0);
  EXPECT_EQ(OpenAll({1, 1, 1, 1}).tokens(), 2);
  View view = Copier({3, 3, 3, 3});
  EXPECT_EQ(SourceOf(view), views[0].page_table()[0]);
}

// --- What is not ---

TEST_F(OpenPageTest, SlotsThatAreStillToBeCopiedAreNotASource) {
  Cache(cache_, ns_, Count(0, 6));
  View first = Copier(Count(0, 6));
  View second = Copier(Count(0, 6));
  EXPECT_EQ(SourceOf(first), SourceOf(second)) << "the tree's";
  cache_.CopyDone(first);
  cache_.CopyDone(second);
  cache_.Append(first, Count(6, 1));
  View third = Copier(Count(0, 7));
  EXPECT_EQ(third.tokens(), 7);
  EXPECT_EQ(SourceOf(third), first.page_table()[1]);
}

TEST_F(OpenPageTest, ACopysTargetIsASourceOnceItIsMade) {
  View producer = Compute(cache_, ns_, Count(0, 3));
  View first = Copier(Count(0, 3));
  cache_.Close(producer, PrefixCache::Tail::kDiscard);
  EXPECT_EQ(OpenAll(Count(0, 3)).tokens(), 0);
  cache_.CopyDone(first);
  EXPECT_EQ(OpenAll(Count(0, 3)).tokens(), 3);
}

TEST_F(OpenPageTest, InexactSlotsAreNotCopied) {
  View producer = Compute(cache_, ns_, Count(0, 6));
  cache_.Append(producer, Count(6, 1), PrefixCache::Exactness::kInexact);
  EXPECT_EQ(OpenAll(Count(0, 7)).tokens(), 4);
}

TEST_F(OpenPageTest, AfterAFlushNothingIsCopied) {
  View producer = Compute(cache_, ns_, Count(0, 6));
  View at_root = Compute(cache_, ns_, {50, 51});
  cache_.Flush(ns_);
  EXPECT_EQ(OpenAll(Count(0, 7)).tokens(), 0);
  EXPECT_EQ(OpenAll({50, 51}).tokens(), 0);
}

TEST_F(OpenPageTest, NamespacesDoNotShareOpenPages) {
  View producer = Compute(cache_, ns_, Count(0, 3));
  const NamespaceId other = cache_.OpenNamespace("other");
  EXPECT_EQ(cache_.Open(other, Count(0, 3), 3).tokens(), 0);
}

// --- Previews ---

TEST_F(OpenPageTest, APreviewTellsThatNothingMoreIsPinned) {
  View producer = Compute(cache_, ns_, Count(0, 6));
  const PrefixCache::Preview preview = cache_.PreviewOpen(ns_, Count(0, 9), 8);
  EXPECT_EQ(preview.tokens, 6);
  EXPECT_EQ(preview.leased_pages, 1);
  EXPECT_EQ(preview.pinned_pages, 0);
  const std::int64_t available = cache_.available_pages();
  View view = cache_.Open(ns_, Count(0, 9), 8);
  EXPECT_EQ(cache_.available_pages(), available);
}

// The tree has two tokens in an evictable page, an open page three.
TEST_F(OpenPageTest, ATreePageThatLosesIsNotPinned) {
  View producer = OpenAll({});
  GrowTo(cache_, producer, 3);
  Cache(cache_, ns_, {1, 2});
  EXPECT_EQ(cache_.PreviewOpen(ns_, Tokens{1, 2, 3}, 3).pinned_pages, 1);
  cache_.Append(producer, Tokens{1, 2, 3});
  EXPECT_EQ(cache_.PreviewOpen(ns_, Tokens{1, 2, 3}, 3).pinned_pages, 0);
  View view = OpenAll({1, 2, 3});
  EXPECT_EQ(cache_.stats().evictable, 1);
}

// --- What may become of the page while it is copied ---

class CopiedPageTest : public OpenPageTest {
 protected:
  // The copy's end, whatever happened: nothing is left of the page but what it is for others.
  void EndCopy(bool by_closing) {
    EXPECT_INVARIANTS(cache_);
    if (by_closing) {
      cache_.Close(copier_, PrefixCache::Tail::kAdopt);
    } else {
      cache_.CopyDone(copier_);
    }
    EXPECT_INVARIANTS(cache_);
    EXPECT_EQ(Pages(cache_, PageState::kDetached), 0);
  }

  View producer_ = Compute(cache_, ns_, Count(0, 6));
  View copier_ = Copier(Count(0, 6));
  const PageId page_ = producer_.page_table()[1];
};

TEST_F(CopiedPageTest, ItStaysOpen) {
  ASSERT_EQ(SourceOf(copier_), page_);
  cache_.Append(producer_, Count(6, 1));
  EXPECT_EQ(cache_.page_state(page_), PageState::kOpen);
  EndCopy(false);
  EXPECT_EQ(cache_.page_state(page_), PageState::kOpen);
}

TEST_F(CopiedPageTest, APublishedOneBeginsANodeAndIsHeld) {
  GrowTo(cache_, producer_, 12);
  cache_.Append(producer_, Count(6, 6));
  EXPECT_EQ(cache_.page_state(page_), PageState::kTree);
  EXPECT_EQ(cache_.stats().nodes, 2) << "the first page's edge was not lengthened";
  cache_.Close(producer_, PrefixCache::Tail::kAdopt);
  // Of the three pages the first is leased by the copier, the second held by its copy.
  EXPECT_EQ(cache_.stats().evictable, 1);
  EXPECT_EQ(cache_.available_pages(), 13);
  View all = cache_.Open(ns_, {}, 0);
  ASSERT_TRUE(cache_.Grow(all, 13));
  EXPECT_EQ(cache_.page_state(page_), PageState::kTree) << "not evicted";
  EndCopy(false);
  EXPECT_EQ(cache_.stats().evictable, 1);
}

TEST_F(CopiedPageTest, OneThatTheTreeHadIsDetached) {
  View quicker = cache_.Open(ns_, Count(0, 4), 4);
  GrowTo(cache_, quicker, 8);
  cache_.Append(quicker, Count(4, 4));
  cache_.Append(producer_, Count(6, 2));
  EXPECT_EQ(producer_.page_table()[1], quicker.page_table()[1]);
  EXPECT_EQ(cache_.page_state(page_), PageState::kDetached);
  EndCopy(false);
  EXPECT_EQ(cache_.page_state(page_), PageState::kFree);
}

// The one way in which Append takes pages from the available ones, and only until the copy ends.
TEST_F(CopiedPageTest, UntilThenOnePageLessMayBeAvailable) {
  View quicker = cache_.Open(ns_, Count(0, 4), 4);
  GrowTo(cache_, quicker, 8);
  cache_.Append(quicker, Count(4, 4));
  cache_.Close(quicker, PrefixCache::Tail::kAdopt);
  const std::int64_t available = cache_.available_pages();
  cache_.Append(producer_, Count(6, 2));
  EXPECT_EQ(cache_.available_pages(), available - 1);
  EndCopy(false);
  EXPECT_EQ(cache_.available_pages(), available);
}

TEST_F(CopiedPageTest, AnAdoptedOneIsATailOfItsOwnAndHeld) {
  cache_.Close(producer_, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.page_state(page_), PageState::kTree);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 9)), 6);
  EXPECT_EQ(cache_.stats().evictable, 0);
  EndCopy(false);
  EXPECT_EQ(cache_.stats().evictable, 1);
}

TEST_F(CopiedPageTest, AnAdoptedOneMayBeReplacedByALongerPage) {
  cache_.Close(producer_, PrefixCache::Tail::kAdopt);
  Cache(cache_, ns_, Count(0, 7));
  EXPECT_EQ(cache_.page_state(page_), PageState::kDetached);
  EndCopy(false);
  EXPECT_EQ(cache_.page_state(page_), PageState::kFree);
}

TEST_F(CopiedPageTest, ADiscardedOneIsDetached) {
  cache_.Close(producer_, PrefixCache::Tail::kDiscard);
  EXPECT_EQ(cache_.page_state(page_), PageState::kDetached);
  EndCopy(false);
  EXPECT_EQ(cache_.page_state(page_), PageState::kFree);
}

TEST_F(CopiedPageTest, SoIsOneThatTheTreeHasWhenItIsOffered) {
  Cache(cache_, ns_, Count(0, 7));
  cache_.Close(producer_, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.page_state(page_), PageState::kDetached);
  EndCopy(true);
  EXPECT_EQ(cache_.page_state(page_), PageState::kFree);
}

TEST_F(CopiedPageTest, APrivateOneIsDetachedWhenItsViewCloses) {
  cache_.Append(producer_, Count(6, 2), PrefixCache::Exactness::kInexact);
  EXPECT_EQ(cache_.page_state(page_), PageState::kPrivate);
  EXPECT_INVARIANTS(cache_);
  cache_.Close(producer_, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.page_state(page_), PageState::kDetached);
  EndCopy(false);
  EXPECT_EQ(cache_.page_state(page_), PageState::kFree);
}

TEST_F(CopiedPageTest, APrivateOneOutlivesItsCopies) {
  cache_.Append(producer_, Count(6, 2), PrefixCache::Exactness::kInexact);
  EndCopy(true);
  EXPECT_EQ(cache_.page_state(page_), PageState::kPrivate);
}

TEST_F(CopiedPageTest, AFlushLeavesItToItsView) {
  cache_.Flush(ns_);
  EXPECT_EQ(cache_.page_state(page_), PageState::kOpen);
  EXPECT_INVARIANTS(cache_);
  cache_.Append(producer_, Count(6, 2));
  EXPECT_EQ(cache_.page_state(page_), PageState::kPrivate);
  EXPECT_INVARIANTS(cache_);
  cache_.CopyDone(copier_);
  EXPECT_EQ(Pages(cache_, PageState::kDetached), 1) << "the leased page alone";
}

TEST_F(CopiedPageTest, ItIsKeptForTheLastOfItsCopies) {
  View second = Copier(Count(0, 5));
  ASSERT_EQ(SourceOf(second), page_);
  cache_.Close(producer_, PrefixCache::Tail::kDiscard);
  cache_.CopyDone(copier_);
  EXPECT_EQ(cache_.page_state(page_), PageState::kDetached);
  EXPECT_INVARIANTS(cache_);
  cache_.CopyDone(second);
  EXPECT_EQ(cache_.page_state(page_), PageState::kFree);
}

TEST_F(CopiedPageTest, OnceThePageIsPublishedItIsAnOrdinarySource) {
  cache_.Append(producer_, Count(6, 2));
  View second = Copier(Count(0, 7));
  EXPECT_EQ(SourceOf(second), page_);
  cache_.CopyDone(copier_);
  EXPECT_INVARIANTS(cache_);
  cache_.Close(producer_, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.stats().evictable, 0);
  cache_.CopyDone(second);
  EXPECT_EQ(cache_.stats().evictable, 1);
}

TEST_F(CopiedPageTest, AfterTheCopyTheEdgeIsLengthenedAgain) {
  EndCopy(true);
  cache_.Append(producer_, Count(6, 2));
  EXPECT_EQ(cache_.stats().nodes, 1);
}

}  // namespace
}  // namespace banyan::radix
