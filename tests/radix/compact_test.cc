// Views that go on with what survives of their tokens. Pages of four tokens, a pool of sixteen.
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "radix/prefix_cache.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

using Exactness = PrefixCache::Exactness;
using Tail = PrefixCache::Tail;

class CompactTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_INVARIANTS(cache_); }

  // What survives of `tokens` tokens.
  View Survivors(std::int64_t tokens, std::int64_t slots, std::int32_t pages) {
    View view = cache_.OpenPrivate(ns_);
    EXPECT_TRUE(cache_.Grow(view, pages));
    EXPECT_INVARIANTS(cache_);
    cache_.Compact(view, tokens, slots);
    EXPECT_INVARIANTS(cache_);
    return view;
  }
  void Lose(View& view, std::size_t more) {
    cache_.Append(view, Count(500, more), Exactness::kInexact);
    EXPECT_INVARIANTS(cache_);
  }

  PrefixCache cache_{Options{.page_size = 4, .pages = 16}};
  NamespaceId ns_ = cache_.OpenNamespace("");
};

TEST_F(CompactTest, SlotsAreFewerThanTokens) {
  View view = Survivors(19, 6, 3);
  EXPECT_EQ(view.tokens(), 19);
  EXPECT_EQ(view.slots(), 6);
  EXPECT_EQ(view.page_table().size(), 3);
  EXPECT_EQ(view.leased_pages(), 0);
  EXPECT_FALSE(cache_.Publishes(view));
  EXPECT_EQ(Pages(cache_, PageState::kPrivate), 1) << "a full page is its own";
  EXPECT_EQ(Pages(cache_, PageState::kOpen), 2);
}

TEST_F(CompactTest, WhatComesNextFillsTheNextSlots) {
  View view = Survivors(19, 6, 3);
  Lose(view, 1);
  EXPECT_EQ(view.tokens(), 20);
  EXPECT_EQ(view.slots(), 7);
  Lose(view, 5);
  EXPECT_EQ(view.slots(), 12);
  EXPECT_EQ(Pages(cache_, PageState::kPrivate), 3);
  EXPECT_DEATH(cache_.Append(view, Count(600, 1), Exactness::kInexact), "");
  EXPECT_TRUE(cache_.Grow(view, 1));
  Lose(view, 1);
  EXPECT_EQ(view.slots(), 13);
}

TEST_F(CompactTest, ItIsCompactedAgainWhereItLies) {
  View view = Survivors(19, 6, 3);
  const std::vector<PageId> table(view.page_table().begin(), view.page_table().end());
  for (std::int64_t tokens = 25; tokens < 100; tokens += 6) {
    Lose(view, 6);
    cache_.Compact(view, tokens, 6);
    EXPECT_INVARIANTS(cache_);
    EXPECT_EQ(view.tokens(), tokens);
    EXPECT_EQ(view.slots(), 6);
    EXPECT_THAT(table, testing::ElementsAreArray(view.page_table())) << "its memory is constant";
    EXPECT_EQ(Pages(cache_, PageState::kPrivate), 1);
  }
}

TEST_F(CompactTest, TheTreeKeepsWhatWasExact) {
  {
    View view = Compute(cache_, ns_, Count(0, 19));
    View survivors = Survivors(19, 6, 3);
    cache_.Close(view, Tail::kAdopt);
    view = std::move(survivors);
    EXPECT_INVARIANTS(cache_);
    Lose(view, 6);
    EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 19)), 19);
  }
  EXPECT_EQ(cache_.MatchLength(ns_, Count(0, 19)), 19);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 11) << "all that it had is free";
}

TEST_F(CompactTest, NothingOfSuchAViewIsEverFound) {
  View view = Survivors(19, 8, 3);
  Lose(view, 4);
  cache_.Close(view, Tail::kAdopt);
  EXPECT_EQ(cache_.MatchLength(ns_, Count(500, 4)), 0);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 16);
}

TEST_F(CompactTest, ItMovesAndOutlivesItsNamespacesFlush) {
  View view = Survivors(19, 6, 3);
  cache_.Flush(ns_);
  EXPECT_INVARIANTS(cache_);
  View moved = std::move(view);
  EXPECT_EQ(moved.slots(), 6);
  EXPECT_EQ(view.slots(), 0);  // NOLINT: what is left of it
  Lose(moved, 3);
  EXPECT_EQ(moved.tokens(), 22);
}

// What a closed private view held comes back to pages of another one.
class RestoreTest : public CompactTest {
 protected:
  View Restored(std::int64_t tokens, std::int64_t slots, PageGap gap, std::int32_t pages) {
    View view = cache_.OpenPrivate(ns_);
    EXPECT_TRUE(cache_.Grow(view, pages));
    cache_.Restore(view, tokens, slots, gap);
    EXPECT_INVARIANTS(cache_);
    return view;
  }
};

TEST_F(RestoreTest, WhatSurvivedGoesOnAndIsCompactedAgain) {
  View view = Restored(19, 6, {}, 2);
  EXPECT_EQ(view.tokens(), 19);
  EXPECT_EQ(view.slots(), 6);
  EXPECT_FALSE(cache_.Publishes(view));
  EXPECT_EQ(Pages(cache_, PageState::kPrivate), 1);
  Lose(view, 2);
  cache_.Compact(view, 21, 5);
  EXPECT_EQ(view.slots(), 5);
}

TEST_F(RestoreTest, AGapGoesOnToGrow) {
  // Pages 0, 3, 4 and half of page 5.
  View view = Restored(22, 22, {.front = 1, .dropped = 2}, 4);
  EXPECT_EQ(view.gap().dropped, 2);
  EXPECT_EQ(Pages(cache_, PageState::kPrivate), 3);
  EXPECT_EQ(Pages(cache_, PageState::kOpen), 1);
  Lose(view, 2);
  cache_.Drop(view, 1, 5);
  EXPECT_INVARIANTS(cache_);
  EXPECT_EQ(view.page_table().size(), 2);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 14);
}

TEST_F(RestoreTest, AWholeOneIsAsItWas) {
  View view = Restored(9, 9, {}, 3);
  EXPECT_EQ(view.slots(), 9);
  EXPECT_EQ(Pages(cache_, PageState::kPrivate), 2);
  cache_.Close(view, Tail::kAdopt);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 16) << "nothing of it is ever found";
}

using RestoreDeathTest = RestoreTest;

TEST_F(RestoreDeathTest, IsForEmptyPrivateViewsWithPagesForAllOfIt) {
  View shared = cache_.Open(ns_, Count(0, 9), 0);
  EXPECT_TRUE(cache_.Grow(shared, 3));
  EXPECT_DEATH(cache_.Restore(shared, 9, 9, {}), "");
  cache_.Close(shared, Tail::kDiscard);
  View view = Restored(9, 9, {}, 3);
  EXPECT_DEATH(cache_.Restore(view, 9, 9, {}), "");
  View empty = cache_.OpenPrivate(ns_);
  EXPECT_TRUE(cache_.Grow(empty, 2));
  EXPECT_DEATH(cache_.Restore(empty, 9, 9, {}), "");
  EXPECT_DEATH(cache_.Restore(empty, 9, 10, {}), "");
  EXPECT_DEATH(cache_.Restore(empty, 9, 0, {}), "");
  EXPECT_DEATH(cache_.Restore(empty, 20, 8, {.front = 1, .dropped = 1}), "");
  cache_.Restore(empty, 8, 8, {});
}

using CompactDeathTest = CompactTest;

TEST_F(CompactDeathTest, IsForViewsThatWereNeverShared) {
  View shared = Compute(cache_, ns_, Count(0, 7));
  EXPECT_DEATH(cache_.Compact(shared, 7, 3), "");
  cache_.Close(shared, Tail::kDiscard);
  // Its open page may have been copied from.
  View lossy = Compute(cache_, ns_, Count(50, 2));
  Lose(lossy, 2);
  EXPECT_DEATH(cache_.Compact(lossy, 4, 3), "");
  View view = Survivors(19, 6, 2);
  EXPECT_DEATH(cache_.Compact(view, 20, 6), "");
  EXPECT_DEATH(cache_.Compact(view, 19, 7), "");
  EXPECT_DEATH(cache_.Compact(view, 19, 0), "");
  EXPECT_DEATH(cache_.Drop(view, 0, 1), "");
  View empty = cache_.OpenPrivate(ns_);
  EXPECT_DEATH(cache_.Compact(empty, 5, 1), "") << "no page yet";
  EXPECT_TRUE(cache_.Grow(empty, 1));
  EXPECT_DEATH(cache_.Compact(empty, 5, 5), "") << "nothing was given up";
  cache_.Compact(empty, 5, 4);
}

}  // namespace
}  // namespace banyan::radix
