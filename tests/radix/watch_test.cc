// Watches know at every moment what MatchLength would say, and say when that changes. Random
// operations watch as well (model_test.cc, sweep_test.cc). Pages of four tokens.
#include "radix/watch.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "radix/prefix_cache.h"
#include "radix/tree.h"
#include "tests/radix/serve.h"
#include "tests/radix/tree_peer.h"

namespace banyan::radix {
namespace {

class WatchTest : public testing::Test {
 protected:
  // What a queue has of a request: its prompt, and the length that it was last told.
  struct Waiting {
    Waiting(PrefixCache& cache, NamespaceId name_space, Tokens prompt)
        : ns(name_space), tokens(std::move(prompt)) {
      cache.StartWatch(watch, ns, tokens);
      told = watch.cached_tokens();
    }
    NamespaceId ns;
    Tokens tokens;
    std::int64_t told = 0;
    Watch watch{this};
  };

  Waiting& Wait(Tokens tokens) { return WaitIn(ns_, std::move(tokens)); }
  Waiting& WaitIn(NamespaceId ns, Tokens tokens) {
    waiting_.push_back(std::make_unique<Waiting>(cache_, ns, std::move(tokens)));
    return *waiting_.back();
  }

  // Takes what changed, checks all that wait, and returns how many changed.
  int Changed() {
    int changed = 0;
    while (Watch* const watch = cache_.TakeChanged()) {
      auto& waiting = *static_cast<Waiting*>(watch->owner());
      EXPECT_NE(waiting.told, watch->cached_tokens()) << "handed out unchanged";
      waiting.told = watch->cached_tokens();
      ++changed;
    }
    for (const auto& waiting : waiting_) {
      EXPECT_EQ(waiting->watch.cached_tokens(), cache_.MatchLength(waiting->ns, waiting->tokens));
      EXPECT_EQ(waiting->told, waiting->watch.cached_tokens()) << "changed and not handed out";
    }
    EXPECT_INVARIANTS(cache_);
    return changed;
  }
  // Frees as many pages as that takes for `pages` to be free, least recently used first.
  void Evict(std::int32_t pages) {
    View view = cache_.Open(ns_, {}, 0);
    ASSERT_TRUE(cache_.Grow(view, pages));
  }

  PrefixCache cache_{Options{.page_size = 4, .pages = 16}};
  NamespaceId ns_ = cache_.OpenNamespace("");
  std::vector<std::unique_ptr<Waiting>> waiting_;
};

TEST_F(WatchTest, StartsWithWhatIsCached) {
  Cache(cache_, ns_, Count(0, 10));
  EXPECT_EQ(Wait(Count(0, 20)).told, 10);
  EXPECT_EQ(Wait(Count(0, 8)).told, 8) << "ends where a page ends";
  EXPECT_EQ(Wait(Count(0, 7)).told, 7);
  EXPECT_EQ(Wait(Count(0, 5) + Count(90, 5)).told, 5);
  EXPECT_EQ(Wait(Count(0, 2) + Count(90, 5)).told, 2) << "less than a page";
  EXPECT_EQ(Wait(Count(90, 5)).told, 0);
  EXPECT_EQ(Wait({}).told, 0);
  EXPECT_EQ(Changed(), 0);
}

TEST_F(WatchTest, FollowsAPromptPageByPageAndToItsTail) {
  Waiting& longer = Wait(Count(0, 30));
  Waiting& shorter = Wait(Count(0, 6));
  Waiting& other = Wait(Count(50, 6));
  View view = cache_.Open(ns_, Count(0, 15), 15);
  ASSERT_TRUE(cache_.Grow(view, 4));
  cache_.Append(view, Count(0, 3));
  EXPECT_EQ(Changed(), 0) << "a page that is open is not in the tree";
  cache_.Append(view, Count(3, 1));  // a new child
  EXPECT_EQ(Changed(), 2);
  EXPECT_EQ(longer.told, 4);
  cache_.Append(view, Count(4, 9));  // two pages behind it in the same edge
  EXPECT_EQ(Changed(), 2);
  EXPECT_EQ(longer.told, 12);
  EXPECT_EQ(shorter.told, 6);
  cache_.Append(view, Count(13, 2));
  EXPECT_EQ(Changed(), 0);
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(Changed(), 1);
  EXPECT_EQ(longer.told, 15);
  EXPECT_EQ(other.told, 0);
}

TEST_F(WatchTest, FollowsBelowAnEdgeThatCannotGrow) {
  Cache(cache_, ns_, Count(0, 4) + Count(10, 4));
  Cache(cache_, ns_, Count(0, 4) + Count(20, 4));
  Waiting& waiting = Wait(Count(0, 4) + Count(30, 9));
  EXPECT_EQ(waiting.told, 4);
  Cache(cache_, ns_, Count(0, 4) + Count(30, 9));
  EXPECT_EQ(Changed(), 1);
  EXPECT_EQ(waiting.told, 13);
}

TEST_F(WatchTest, ASplitChangesNoLength) {
  Cache(cache_, ns_, Count(0, 16));
  Wait(Count(0, 3) + Count(90, 9));
  Wait(Count(0, 4) + Count(90, 9));
  Wait(Count(0, 9) + Count(90, 9));
  Wait(Count(0, 12) + Count(90, 9));
  Wait(Count(0, 12));
  Wait(Count(0, 20));
  Wait(Count(0, 16));
  for (const std::size_t length : {8, 12, 4}) {
    View view = cache_.Open(ns_, Count(0, length), 16);
    EXPECT_EQ(Changed(), 0);
  }
  Cache(cache_, ns_, Count(0, 4) + Count(90, 2));
  Cache(cache_, ns_, Count(0, 12) + Count(90, 2));
  EXPECT_EQ(Changed(), 2) << "they still hang where they belong";
}

TEST_F(WatchTest, ALongerTailAndThenAPageReplaceATail) {
  Waiting& waiting = Wait(Count(0, 20));
  Waiting& fork = Wait(Count(0, 5) + Count(90, 9));
  for (const std::int64_t length : {2, 3, 4, 5, 7, 8, 9}) {
    Cache(cache_, ns_, Count(0, static_cast<std::size_t>(length)));
    Changed();
    EXPECT_EQ(waiting.told, length);
    EXPECT_EQ(fork.told, std::min<std::int64_t>(length, 5));
  }
}

TEST_F(WatchTest, ATailThatIsReplacedCountsUntilItIs) {
  Cache(cache_, ns_, Count(0, 6));
  Waiting& waiting = Wait(Count(0, 20));
  View view = cache_.Open(ns_, Count(0, 8), 8);
  GrowTo(cache_, view, 8);
  EXPECT_EQ(Changed(), 0);
  cache_.Append(view, Count(6, 1));
  EXPECT_EQ(Changed(), 0);
  EXPECT_EQ(waiting.told, 6);
  cache_.Append(view, Count(7, 1));
  EXPECT_EQ(Changed(), 1);
  EXPECT_EQ(waiting.told, 8);
}

TEST_F(WatchTest, SiblingsOvertakeOneAnotherWithinTheirFirstPage) {
  Waiting& waiting = Wait({1, 2, 3, 4, 5});
  Waiting& near = Wait({1, 2, 9, 9});
  Cache(cache_, ns_, {1, 7, 7, 7});
  Changed();
  EXPECT_EQ(waiting.told, 1);
  Cache(cache_, ns_, {1, 2, 3, 9});
  Changed();
  EXPECT_EQ(waiting.told, 3);
  EXPECT_EQ(near.told, 2);
  Cache(cache_, ns_, {1, 2, 7, 7});
  EXPECT_EQ(Changed(), 0) << "no better than what was there";
  Cache(cache_, ns_, {1, 2, 3, 4});
  EXPECT_EQ(Changed(), 1);
  EXPECT_EQ(waiting.told, 4);
}

TEST_F(WatchTest, WhenTheBestSiblingGoesTheNextBestCounts) {
  Cache(cache_, ns_, {1, 2, 3, 4});
  Cache(cache_, ns_, {1, 2, 3, 9});
  Cache(cache_, ns_, {1, 7, 7, 7});
  for (const Tokens& used : {Tokens{1, 2, 3, 9}, {1, 7, 7, 7}}) cache_.Open(ns_, used, 4);
  Waiting& waiting = Wait({1, 2, 3, 4, 5});
  Waiting& partial = Wait({1, 2, 3, 9});
  Waiting& unlike = Wait({1, 8});
  Evict(14);
  EXPECT_EQ(Changed(), 1);
  EXPECT_EQ(waiting.told, 3);
  Evict(15);
  EXPECT_EQ(Changed(), 2);
  EXPECT_EQ(waiting.told, 1);
  EXPECT_EQ(partial.told, 1);
  EXPECT_EQ(unlike.told, 1);
  Evict(16);
  EXPECT_EQ(Changed(), 3);
  EXPECT_EQ(waiting.told, 0);
}

TEST_F(WatchTest, EvictionTakesPagesFromTheEnd) {
  Cache(cache_, ns_, Count(0, 14));
  Waiting& whole = Wait(Count(0, 20));
  Waiting& fork = Wait(Count(0, 6) + Count(90, 3));
  Waiting& exact = Wait(Count(0, 8));
  const std::vector<std::vector<std::int64_t>> expected = {
      {12, 6, 8}, {8, 6, 8}, {4, 4, 4}, {0, 0, 0}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    Evict(static_cast<std::int32_t>(13 + i));
    Changed();
    EXPECT_EQ((std::vector{whole.told, fork.told, exact.told}), expected[i]);
  }
}

TEST_F(WatchTest, EvictionClimbsToTheParent) {
  Cache(cache_, ns_, Count(0, 8) + Count(20, 4));
  Cache(cache_, ns_, Count(0, 8) + Count(30, 4));
  Waiting& waiting = Wait(Count(0, 8) + Count(20, 9));
  Evict(13);
  EXPECT_EQ(Changed(), 1);
  EXPECT_EQ(waiting.told, 8);
  Cache(cache_, ns_, Count(0, 8) + Count(20, 6));
  EXPECT_EQ(Changed(), 1);
  EXPECT_EQ(waiting.told, 14);
}

TEST_F(WatchTest, AFlushLeavesNothingAndTheNewRootIsWatched) {
  Cache(cache_, ns_, Count(0, 10));
  Waiting& waiting = Wait(Count(0, 20));
  Waiting& partial = Wait(Count(0, 2));
  Wait(Count(50, 2));
  for (const bool is_leased : {false, true}) {
    std::optional<View> lease;
    if (is_leased) lease = cache_.Open(ns_, Count(0, 8), 8);
    cache_.Flush(ns_);
    EXPECT_EQ(Changed(), 2);
    EXPECT_EQ(waiting.told, 0);
    EXPECT_EQ(partial.told, 0);
    Cache(cache_, ns_, Count(0, 10));
    EXPECT_EQ(Changed(), 2);
    EXPECT_EQ(waiting.told, 10);
    if (is_leased) cache_.Close(*lease, PrefixCache::Tail::kDiscard);
    EXPECT_EQ(Changed(), 0) << "the last lease of what was flushed";
  }
}

TEST_F(WatchTest, NamespacesDoNotConcernOneAnother) {
  const NamespaceId other = cache_.OpenNamespace("other");
  Waiting& here = Wait(Count(0, 8));
  Waiting& there = WaitIn(other, Count(0, 8));
  Cache(cache_, ns_, Count(0, 8));
  EXPECT_EQ(Changed(), 1);
  EXPECT_EQ(here.told, 8);
  Cache(cache_, other, Count(0, 6));
  EXPECT_EQ(Changed(), 1);
  EXPECT_EQ(there.told, 6);
  cache_.Flush(ns_);
  EXPECT_EQ(Changed(), 1);
  EXPECT_EQ(there.told, 6);
}

TEST_F(WatchTest, ManyOnOnePromptChangeTogether) {
  for (int i = 0; i < 100; ++i) Wait(Count(0, 9));
  Cache(cache_, ns_, Count(0, 12));
  EXPECT_EQ(Changed(), 100);
  waiting_.erase(waiting_.begin() + 10, waiting_.begin() + 60);
  Evict(14);
  EXPECT_EQ(Changed(), 50);
}

TEST_F(WatchTest, IsHandedOutOnceForAllThatHappenedSince) {
  Waiting& waiting = Wait(Count(0, 12));
  Cache(cache_, ns_, Count(0, 4));
  Cache(cache_, ns_, Count(0, 8));
  EXPECT_EQ(cache_.TakeChanged(), &waiting.watch);
  EXPECT_EQ(cache_.TakeChanged(), nullptr);
  Cache(cache_, ns_, Count(0, 12));
  EXPECT_EQ(cache_.TakeChanged(), &waiting.watch);
  EXPECT_EQ(cache_.TakeChanged(), nullptr);
}

TEST_F(WatchTest, IsNotHandedOutWhenItIsAsBefore) {
  Waiting& first = Wait(Count(0, 4));
  Waiting& second = Wait(Count(10, 4));
  Waiting& third = Wait(Count(0, 8));
  Cache(cache_, ns_, Count(0, 4));
  Cache(cache_, ns_, Count(10, 4));
  Evict(15);
  EXPECT_EQ(first.watch.cached_tokens(), 0);
  EXPECT_EQ(third.watch.cached_tokens(), 0);
  EXPECT_EQ(cache_.TakeChanged(), &second.watch);
  EXPECT_EQ(cache_.TakeChanged(), nullptr);
}

TEST_F(WatchTest, StoppedIsOffAndNotHandedOut) {
  Waiting& first = Wait(Count(0, 4));
  Waiting& second = Wait(Count(0, 8));
  Waiting& third = Wait(Count(0, 12));
  EXPECT_TRUE(second.watch.is_on());
  Cache(cache_, ns_, Count(0, 12));
  cache_.StopWatch(second.watch);
  EXPECT_FALSE(second.watch.is_on());
  EXPECT_EQ(second.watch.cached_tokens(), 0);
  cache_.StopWatch(second.watch);  // harmless
  EXPECT_EQ(cache_.TakeChanged(), &first.watch);
  EXPECT_EQ(cache_.TakeChanged(), &third.watch);
  EXPECT_EQ(cache_.TakeChanged(), nullptr);
  cache_.Flush(ns_);
  cache_.StopWatch(third.watch);
  cache_.StopWatch(first.watch);
  EXPECT_EQ(cache_.TakeChanged(), nullptr);
  EXPECT_INVARIANTS(cache_);
}

TEST_F(WatchTest, MayBeStartedAgainOnOtherTokens) {
  Cache(cache_, ns_, Count(10, 6));
  const Tokens first = Count(0, 8);
  const Tokens second = Count(10, 8);
  Watch watch(nullptr);
  cache_.StartWatch(watch, ns_, first);
  cache_.StopWatch(watch);
  cache_.StartWatch(watch, ns_, second);
  EXPECT_EQ(watch.cached_tokens(), 6);
  Cache(cache_, ns_, first);
  EXPECT_EQ(cache_.TakeChanged(), nullptr);
}

TEST_F(WatchTest, ItsEndStopsIt) {
  const Tokens tokens = Count(0, 8);
  {
    Watch watch(nullptr);
    cache_.StartWatch(watch, ns_, tokens);
    Cache(cache_, ns_, tokens);
  }
  EXPECT_EQ(cache_.TakeChanged(), nullptr);
  cache_.Flush(ns_);
  EXPECT_INVARIANTS(cache_);
}

TEST(WatchDeathTest, IsStartedOnce) {
  PrefixCache cache{Options{.page_size = 4, .pages = 4}};
  const NamespaceId ns = cache.OpenNamespace("");
  const Tokens tokens = Count(0, 8);
  Watch watch(nullptr);
  cache.StartWatch(watch, ns, tokens);
  EXPECT_DEATH(cache.StartWatch(watch, ns, tokens), "");
}

// What keeping 4,096 watches true costs, in watches looked at. All prompts begin with the same two
// pages, which are cached, and go on alike for one token.
class WatchCostTest : public testing::Test {
 protected:
  static constexpr int kWaiting = 4096;

  WatchCostTest() {
    Serve(kSystem);
    for (int i = 0; i < kWaiting; ++i) {
      prompts_.push_back(kSystem + Tokens{7, 1000 + i, 5, 5, 5});
      watches_.push_back(std::make_unique<Watch>(nullptr));
      tree_.StartWatch(*watches_.back(), ns_, prompts_.back());
    }
  }
  void Serve(const Tokens& tokens) {
    View view = tree_.Open(ns_, tokens, static_cast<std::int64_t>(tokens.size()));
    const auto pages = static_cast<std::int32_t>((tokens.size() + 3) / 4) - view.leased_pages();
    ASSERT_TRUE(tree_.Grow(view, pages));
    if (tree_.PendingCopy(view).has_value()) tree_.CopyDone(view);
    tree_.Append(view, Rest(tokens, view.tokens()), PrefixCache::Exactness::kExact);
    tree_.Close(view, PrefixCache::Tail::kAdopt);
  }
  void Evict(std::int32_t pages) {
    View view = tree_.Open(ns_, {}, 0);
    ASSERT_TRUE(tree_.Grow(view, pages));
    tree_.Close(view, PrefixCache::Tail::kDiscard);
  }
  std::int64_t Visits() {
    const std::int64_t visits = TreePeer::Shape(tree_).watches().visits();
    return visits - std::exchange(seen_, visits);
  }
  int Changed() {
    int changed = 0;
    while (tree_.TakeChanged() != nullptr) ++changed;
    return changed;
  }

  const Tokens kSystem = Count(0, 8);
  Tree tree_{Options{.page_size = 4, .pages = 64}, nullptr};
  NamespaceId ns_ = tree_.OpenNamespace("");
  std::vector<Tokens> prompts_;
  std::vector<std::unique_ptr<Watch>> watches_;
  std::int64_t seen_ = 0;
};

TEST_F(WatchCostTest, WhatConcernsNoneLooksAtNone) {
  Serve(kSystem + Tokens{7, 500, 5, 5});  // all match one token more: they are concerned
  EXPECT_EQ(Visits(), kWaiting);
  EXPECT_EQ(Changed(), kWaiting);
  Serve(kSystem + Tokens{7, 501, 5, 5, 6, 6, 6});  // beside it, no closer to any
  Serve(kSystem + Tokens{8, 8, 8, 8});
  Serve(Count(100, 20));
  Serve(kSystem + Tokens{7, 501, 5, 5, 6, 6, 6});
  Evict(64 - 4);  // all but the last one's pages
  EXPECT_EQ(tree_.stats().evicted_pages, 7);
  EXPECT_EQ(Visits(), 0);
  EXPECT_EQ(Changed(), 0);
  EXPECT_EQ(tree_.CheckInvariants().message(), "");
}

TEST_F(WatchCostTest, WhatConcernsOneLooksAtOne) {
  Serve(kSystem + Tokens{7, 500, 5, 5});
  Visits();
  Changed();
  Serve(prompts_[17]);
  EXPECT_EQ(Visits(), 2) << "one page, then the tail";
  EXPECT_EQ(Changed(), 1);
  EXPECT_EQ(watches_[17]->cached_tokens(), static_cast<std::int64_t>(prompts_[17].size()));
  Serve(kSystem + Tokens{7, 500, 5, 5});
  Evict(64 - 3);  // the tail and the page of the 17th
  EXPECT_EQ(Visits(), 2);
  EXPECT_EQ(Changed(), 1);
  EXPECT_EQ(watches_[17]->cached_tokens(), 9);
  EXPECT_EQ(tree_.CheckInvariants().message(), "");
}

TEST_F(WatchCostTest, ASplitMovesThePartThatHasFewer) {
  const Tokens longer = kSystem + Count(50, 8);
  Serve(longer);  // in the same edge, so that all wait inside it
  for (const std::size_t length : {5, 6, 13, 14, 15}) {
    prompts_.push_back(longer);
    prompts_.back().resize(length);
    watches_.push_back(std::make_unique<Watch>(nullptr));
    tree_.StartWatch(*watches_.back(), ns_, prompts_.back());
  }
  Visits();
  Serve(kSystem + Count(70, 4));
  EXPECT_EQ(Visits(), 2 * 3) << "those below, counted and moved";
  Serve(Count(0, 4) + Count(70, 4));
  EXPECT_EQ(Visits(), 2 * 2) << "those above";
  EXPECT_EQ(Changed(), 0);
  EXPECT_EQ(tree_.CheckInvariants().message(), "");
}

}  // namespace
}  // namespace banyan::radix
