// Who gives up pages when the pool is empty, and what operators are told of it.
#include "radix/eviction_index.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "radix/prefix_cache.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;

using testing::Pair;

TEST(EvictionIndex, AgreesWithASortedSet) {
  std::mt19937 random(7);
  EvictionIndex index;
  std::set<std::pair<std::uint64_t, std::uint32_t>> sorted;
  for (int step = 0; step < 20000; ++step) {
    const std::uint32_t leaf = random() % 200;
    const auto entry =
        std::find_if(sorted.begin(), sorted.end(), [&](const auto& e) { return e.second == leaf; });
    if (entry == sorted.end()) {
      const std::uint64_t use = 1 + random() % 64;
      index.Insert(leaf, use);
      sorted.emplace(use, leaf);
      EXPECT_TRUE(index.Contains(leaf, use));
      EXPECT_FALSE(index.Contains(leaf, use + 1));
    } else {
      index.Erase(leaf, entry->first);
      sorted.erase(entry);
      EXPECT_FALSE(index.Contains(leaf, 0));
    }
    ASSERT_EQ(index.size(), sorted.size());
    if (!sorted.empty()) {
      ASSERT_EQ(index.Victim(), sorted.begin()->second);
    }
    std::array<std::uint32_t, 3> victims;
    const std::size_t size = index.Victims(victims);
    ASSERT_EQ(size, std::min(victims.size(), sorted.size()));
    ASSERT_TRUE(std::equal(
        victims.begin(), victims.begin() + static_cast<std::ptrdiff_t>(size), sorted.begin(),
        [](std::uint32_t leaf_at, const auto& expected) { return leaf_at == expected.second; }));
  }
}

class Recorder final : public Observer {
 public:
  void OnEvicted(Tick lifetime, Tick idle) override { evicted.emplace_back(lifetime, idle); }
  void OnReused(std::int32_t pages, Tick gap) override { reused.emplace_back(pages, gap); }
  std::vector<std::pair<Tick, Tick>> evicted;
  std::vector<std::pair<std::int32_t, Tick>> reused;
};

class EvictionTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_INVARIANTS(cache_); }
  // Takes `pages` pages away from the cache for the rest of the test.
  void Occupy(std::int32_t pages) {
    View view = cache_.Open(ns_, {}, 0);
    ASSERT_TRUE(cache_.Grow(view, pages));
    occupied_.push_back(std::move(view));
  }

  Recorder recorder_;
  PrefixCache cache_{Options{.page_size = 4, .pages = 8}, &recorder_};
  NamespaceId ns_ = cache_.OpenNamespace("");
  std::vector<View> occupied_;
};

TEST_F(EvictionTest, FreePagesGoFirst) {
  Cache(cache_, ns_, Count(0, 16));
  Occupy(4);
  EXPECT_EQ(cache_.stats().evicted_pages, 0);
  Occupy(1);
  EXPECT_EQ(cache_.stats().evicted_pages, 1);
}

TEST_F(EvictionTest, ALeafShrinksFromItsLastPage) {
  Cache(cache_, ns_, Count(0, 32));
  Occupy(3);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 32)), 20);
  EXPECT_EQ(cache_.stats().cached_tokens, 20);
}

TEST_F(EvictionTest, TheTailIsTheFirstPageToGo) {
  Cache(cache_, ns_, Count(0, 30));
  Occupy(1);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 30)), 28);
}

TEST_F(EvictionTest, TheLeastRecentlyUsedLeafGoesFirst) {
  Cache(cache_, ns_, Count(100, 8));
  Cache(cache_, ns_, Count(200, 8));
  Cache(cache_, ns_, Count(300, 8));
  Cache(cache_, ns_, Count(400, 8));
  { const View used_again = cache_.Open(ns_, Count(100, 8), 8); }
  Occupy(4);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(100, 8)), 8);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(200, 8)), 0);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(300, 8)), 0);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(400, 8)), 8);
  Occupy(2);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(100, 8)), 8);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(400, 8)), 0);
}

TEST_F(EvictionTest, PublishingIsAUse) {
  View first = cache_.Open(ns_, {}, 0);
  View second = cache_.Open(ns_, {}, 0);
  GrowTo(cache_, first, 8);
  GrowTo(cache_, second, 4);
  cache_.Append(first, Count(100, 4));
  cache_.Append(second, Count(200, 4));
  cache_.Append(first, Count(104, 4));
  cache_.Close(first, PrefixCache::Tail::kAdopt);
  cache_.Close(second, PrefixCache::Tail::kAdopt);
  Occupy(6);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(100, 8)), 8);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(200, 4)), 0);
}

TEST_F(EvictionTest, OfferingATailThatTheTreeHasIsAUse) {
  View view = Compute(cache_, ns_, Count(0, 6));
  Cache(cache_, ns_, Count(0, 6));
  Cache(cache_, ns_, Count(500, 8));
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  Occupy(6);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(500, 8)), 0);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 6)), 6);
}

// Regression: every prompt that began with the same few tokens of a chat template kept alive the
// whole conversation that it was copied from.
TEST_F(EvictionTest, CopyingTheBeginningOfAPageIsNoUseOfWhatFollowsIt) {
  Cache(cache_, ns_, Tokens{1, 2} + Count(500, 10));
  Cache(cache_, ns_, Tokens{1, 2} + Count(200, 10));
  { const View copier = cache_.Open(ns_, Tokens{1, 2, 600}, 3); }
  Occupy(2 + 3);
  EXPECT_EQ(cache_.MatchLength(ns_, Tokens{1, 2} + Count(500, 10)), 2);
  EXPECT_EQ(cache_.MatchLength(ns_, Tokens{1, 2} + Count(200, 10)), 12);
}

// Regression: a short prompt that ended kept alive a whole conversation that began like it.
TEST_F(EvictionTest, OfferingTheBeginningOfAPageIsNoUseOfWhatFollowsIt) {
  View view = Compute(cache_, ns_, Tokens{1, 2});
  Cache(cache_, ns_, Tokens{1, 2} + Count(500, 10));
  Cache(cache_, ns_, Count(200, 12));
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  Occupy(2 + 3);
  EXPECT_EQ(cache_.MatchLength(ns_, Tokens{1, 2} + Count(500, 10)), 0);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(200, 12)), 12);
}

TEST_F(EvictionTest, CopyingFromATailIsAUse) {
  Cache(cache_, ns_, Count(100, 3));
  Cache(cache_, ns_, Count(200, 3));
  { const View copier = cache_.Open(ns_, Count(100, 3), 2); }
  EXPECT_THAT(recorder_.reused, ElementsAre(Pair(1, seconds(0))));
  Occupy(6 + 1);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(100, 3)), 3);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(200, 3)), 0);
}

TEST_F(EvictionTest, AskingForAMatchIsNoUse) {
  Cache(cache_, ns_, Count(100, 16));
  Cache(cache_, ns_, Count(200, 16));
  EXPECT_EQ(cache_.MatchLength(ns_, Count(100, 16)), 16);
  Occupy(4);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(100, 16)), 0);
}

// A shared beginning outlives what hangs on it, and is as recent as the last of that.
TEST_F(EvictionTest, AParentGoesAfterItsChildrenAndNotBeforeOlderLeaves) {
  const Tokens system = Count(0, 8);
  Cache(cache_, ns_, system + Count(100, 4));
  Cache(cache_, ns_, Count(900, 16));
  Cache(cache_, ns_, system + Count(200, 4));
  Occupy(1);  // the first request's own page
  EXPECT_EQ(cache_.MatchLength(ns_, system + Count(100, 4)), 8);
  Occupy(4);  // the unrelated one
  EXPECT_EQ(cache_.MatchLength(ns_, Count(900, 16)), 0);
  EXPECT_EQ(cache_.MatchLength(ns_, system + Count(200, 4)), 12);
  Occupy(2);  // the second's own page, then a page of the beginning
  EXPECT_EQ(cache_.MatchLength(ns_, system), 4);
  Occupy(1);
  EXPECT_EQ(cache_.stats().nodes, 0);
}

// What a view computed after it was opened is as recent as its computation, all the way up.
TEST_F(EvictionTest, PublishingIsAUseOfThePathAboveToo) {
  View slow = Compute(cache_, ns_, Count(0, 8));
  View other = cache_.Open(ns_, Count(0, 8), 8);  // makes the next page a node of its own
  Cache(cache_, ns_, Count(500, 8));
  GrowTo(cache_, slow, 12);
  cache_.Append(slow, Count(8, 4));
  cache_.Close(slow, PrefixCache::Tail::kAdopt);
  cache_.Close(other, PrefixCache::Tail::kAdopt);
  Occupy(3 + 2 + 1);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(500, 8)), 0);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 12)), 8);
}

TEST_F(EvictionTest, LeasedPagesStayAndGrowFailsInstead) {
  View leased = Compute(cache_, ns_, Count(0, 16));
  Cache(cache_, ns_, Count(0, 8) + Count(100, 8));
  EXPECT_EQ(cache_.available_pages(), 4);
  View view = cache_.Open(ns_, {}, 0);
  EXPECT_FALSE(cache_.Grow(view, 5));
  EXPECT_EQ(cache_.stats().evicted_pages, 0);
  EXPECT_TRUE(cache_.Grow(view, 4));
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 16)), 16);
}

TEST_F(EvictionTest, TheSourceOfACopyStaysUntilTheCopyIsDone) {
  Cache(cache_, ns_, Count(0, 16));
  View view = cache_.Open(ns_, Count(0, 4) + Tokens{4, 99}, 6);
  EXPECT_EQ(view.tokens(), 5);
  EXPECT_EQ(cache_.available_pages(), 6) << "all but the leased page and the source";
  ASSERT_TRUE(cache_.Grow(view, 6));
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 16)), 8);
  EXPECT_EQ(cache_.available_pages(), 0);
  cache_.CopyDone(view);
  EXPECT_EQ(cache_.available_pages(), 1);
  ASSERT_TRUE(cache_.Grow(view, 1));
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 16)), 4);
}

TEST_F(EvictionTest, TwoCopiesHoldTheirSourceUntilBothAreDone) {
  Cache(cache_, ns_, Count(0, 4));
  View first = cache_.Open(ns_, Count(0, 4), 3);
  View second = cache_.Open(ns_, Count(0, 4), 2);
  ASSERT_TRUE(cache_.Grow(first, 1));
  ASSERT_TRUE(cache_.Grow(second, 1));
  EXPECT_EQ(cache_.available_pages(), 5);
  cache_.CopyDone(first);
  EXPECT_EQ(cache_.available_pages(), 5);
  cache_.Close(second, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.available_pages(), 7);
}

// A split moves the first page, and with it the hold, to the upper node.
TEST_F(EvictionTest, ASplitBelowACopysSourceKeepsItHeld) {
  Cache(cache_, ns_, Count(0, 16));
  View reader = cache_.Open(ns_, Tokens{0, 1, 99}, 3);
  View splitter = cache_.Open(ns_, Count(0, 8), 8);
  EXPECT_EQ(cache_.stats().nodes, 2);
  cache_.Close(splitter, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.available_pages(), 7);
  EXPECT_INVARIANTS(cache_);
  Occupy(7);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 16)), 4);
}

TEST_F(EvictionTest, AnEvictionTellsLifetimeAndIdleTimeOfThePage) {
  cache_.SetTime(seconds(10));
  View view = Compute(cache_, ns_, Count(0, 4));
  cache_.SetTime(seconds(15));
  GrowTo(cache_, view, 8);
  cache_.Append(view, Count(4, 4));
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  cache_.SetTime(seconds(30));
  { const View again = cache_.Open(ns_, Count(0, 8), 8); }
  cache_.SetTime(seconds(100));
  Occupy(8);
  EXPECT_THAT(recorder_.evicted,
              ElementsAre(Pair(seconds(85), seconds(70)), Pair(seconds(90), seconds(70))));
}

TEST_F(EvictionTest, AMatchTellsPagesAndTheGapSinceTheirLastUse) {
  cache_.SetTime(seconds(1));
  Cache(cache_, ns_, Count(0, 12));
  EXPECT_THAT(recorder_.reused, ElementsAre());
  cache_.SetTime(seconds(4));
  { const View two_pages = cache_.Open(ns_, Count(0, 8), 8); }
  EXPECT_THAT(recorder_.reused, ElementsAre(Pair(2, seconds(3))));
  recorder_.reused.clear();
  cache_.SetTime(seconds(9));
  { const View all = cache_.Open(ns_, Count(0, 12), 12); }
  EXPECT_THAT(recorder_.reused,
              testing::UnorderedElementsAre(Pair(2, seconds(5)), Pair(1, seconds(8))));
}

}  // namespace
}  // namespace banyan::radix
