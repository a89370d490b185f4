// A cache whose pages are shared whole or not at all: no copies, no partial pages in the tree.
// Pages of four tokens.
#include <algorithm>

#include "gtest/gtest.h"
#include "radix/watch.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

class WholePagesTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_INVARIANTS(cache_); }

  std::int64_t Opened(const Tokens& prompt) {
    View view = cache_.Open(ns_, prompt, static_cast<std::int64_t>(prompt.size()) - 1);
    EXPECT_EQ(view.tokens(), 4 * view.leased_pages());
    EXPECT_FALSE(cache_.PendingCopy(view).has_value());
    return view.tokens();
  }

  PrefixCache cache_{Options{.page_size = 4, .pages = 16, .sharing = Sharing::kPages}};
  NamespaceId ns_ = cache_.OpenNamespace("");
};

TEST_F(WholePagesTest, TheSamePromptAgainFindsThePagesBeforeItsLastToken) {
  for (std::size_t size = 1; size <= 14; ++size) {
    const Tokens prompt = Count(static_cast<TokenId>(100 * size), size);
    Cache(cache_, ns_, prompt);
    EXPECT_EQ(Opened(prompt), (size - 1) / 4 * 4) << size;
    EXPECT_EQ(cache_.MatchLength(ns_, prompt), size / 4 * 4) << size;
  }
}

TEST_F(WholePagesTest, AMatchEndsOnAPageBorder) {
  Cache(cache_, ns_, Count(0, 16));
  for (std::size_t common = 0; common <= 16; ++common) {
    const Tokens prompt = Count(0, common) + Count(500, 5);
    EXPECT_EQ(cache_.PreviewOpen(ns_, prompt, 100).tokens, common / 4 * 4) << common;
    EXPECT_EQ(Opened(prompt), common / 4 * 4) << common;
  }
}

TEST_F(WholePagesTest, PagesThatAreStillWrittenAreNobodyElses) {
  View producer = Compute(cache_, ns_, Count(0, 7));
  EXPECT_EQ(Opened(Count(0, 10)), 4);
  cache_.Close(producer, PrefixCache::Tail::kAdopt);
}

TEST_F(WholePagesTest, APartialPageIsFreeWhenItsViewEnds) {
  View view = Compute(cache_, ns_, Count(0, 7));
  EXPECT_EQ(Pages(cache_, PageState::kFree), 14);
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(Pages(cache_, PageState::kTree), 1);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 15);
  EXPECT_EQ(cache_.stats().cached_tokens, 4);
}

TEST_F(WholePagesTest, OpeningPinsNoMoreThanItLeases) {
  Cache(cache_, ns_, Count(0, 8));
  const PrefixCache::Preview preview = cache_.PreviewOpen(ns_, Count(0, 7), 6);
  EXPECT_EQ(preview.leased_pages, 1);
  EXPECT_EQ(preview.pinned_pages, 1);
}

TEST_F(WholePagesTest, AWatchChangesWithWholePagesAlone) {
  const Tokens prompt = Count(0, 11);
  Watch watch(nullptr);
  cache_.StartWatch(watch, ns_, prompt);
  EXPECT_EQ(watch.cached_tokens(), 0);
  Cache(cache_, ns_, Count(0, 2) + Count(50, 6));  // begins as the first page does
  EXPECT_EQ(cache_.TakeChanged(), nullptr);
  Cache(cache_, ns_, Count(0, 6) + Count(60, 2));
  EXPECT_EQ(cache_.TakeChanged(), &watch);
  EXPECT_EQ(watch.cached_tokens(), 4);
  Cache(cache_, ns_, prompt);
  EXPECT_EQ(cache_.TakeChanged(), &watch);
  EXPECT_EQ(watch.cached_tokens(), 8);
  cache_.Flush(ns_);
  EXPECT_EQ(cache_.TakeChanged(), &watch);
  EXPECT_EQ(watch.cached_tokens(), 0);
}

}  // namespace
}  // namespace banyan::radix
