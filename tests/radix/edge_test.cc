#include "radix/edge.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

TEST(Edge, KeepsPagesAndTokensTogetherWhileItGrowsAndShrinks) {
  Blocks blocks;
  Edge edge(blocks, 4);
  Tokens pages;
  Tokens tokens;
  for (PageId page = 0; page < 40; ++page) {
    const Tokens next = Count(10 * page, page == 39 ? 3 : 4);
    edge.Append(std::span(&page, 1), next);
    pages.push_back(page);
    tokens = tokens + next;
    ASSERT_THAT(edge.pages(), ElementsAreArray(pages));
    ASSERT_THAT(edge.tokens(), ElementsAreArray(tokens));
    ASSERT_EQ(edge.has_tail(), page == 39);
  }
  while (edge.page_count() > 0) {
    const std::size_t dropped = edge.page_count() == 40 ? 3 : 4;
    EXPECT_EQ(edge.PopPage(), static_cast<std::int32_t>(dropped));
    pages.pop_back();
    tokens.resize(tokens.size() - dropped);
    ASSERT_THAT(edge.pages(), ElementsAreArray(pages));
    ASSERT_THAT(edge.tokens(), ElementsAreArray(tokens));
  }
}

TEST(Edge, FrontAndRestAfterTakingTheFront) {
  Blocks blocks;
  Edge edge(blocks, 4, Tokens{7, 8, 9}, Count(0, 10));
  const Edge front = edge.TakeFront(2);
  EXPECT_THAT(front.pages(), ElementsAre(7, 8));
  EXPECT_THAT(front.tokens(), ElementsAreArray(Count(0, 8)));
  EXPECT_FALSE(front.has_tail());
  EXPECT_THAT(edge.pages(), ElementsAre(9));
  EXPECT_THAT(edge.tokens(), ElementsAre(8, 9));
  EXPECT_TRUE(edge.has_tail());
  EXPECT_THAT(edge.first_page(), ElementsAre(8, 9));
}

TEST(Edge, HasABoundThatALongerPathContinuesBehind) {
  for (const std::int32_t page_size : {1, 3, 16, 1024}) {
    const auto bound = static_cast<std::size_t>(MaxEdgePages(page_size));
    const auto size = static_cast<std::size_t>(page_size);
    PrefixCache cache(Options{.page_size = page_size, .pages = 5000});
    const NamespaceId ns = cache.OpenNamespace("");
    View at = Compute(cache, ns, Count(0, bound * size));
    EXPECT_EQ(cache.stats().nodes, 1);
    View above = Compute(cache, ns, Count(0, (bound + 1) * size));
    EXPECT_EQ(cache.stats().nodes, 2);
    View below = Compute(cache, ns, Count(1, (bound - 1) * size));
    EXPECT_EQ(cache.stats().nodes, 3);
    EXPECT_EQ(cache.MatchLength(ns, Count(0, (bound + 1) * size)),
              static_cast<std::int64_t>((bound + 1) * size));
    EXPECT_INVARIANTS(cache);
  }
}

// A view that lengthens its own edge, at once and page by page, goes on in a child at the bound.
TEST(Edge, IsLengthenedUpToItsBound) {
  for (const std::int32_t page_size : {1, 3, 16, 1024}) {
    const auto bound = static_cast<std::size_t>(MaxEdgePages(page_size));
    const auto size = static_cast<std::size_t>(page_size);
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}}) {
      PrefixCache cache(Options{.page_size = page_size, .pages = 5000});
      const NamespaceId ns = cache.OpenNamespace("");
      std::size_t pages = bound - 2;
      View view = Compute(cache, ns, Count(0, pages * size));
      while (pages < bound + 3) {
        GrowTo(cache, view, (pages + step) * size);
        cache.Append(view, Count(static_cast<TokenId>(pages * size), step * size));
        pages += step;
        EXPECT_EQ(cache.stats().nodes, static_cast<std::int64_t>((pages + bound - 1) / bound));
        EXPECT_EQ(view.leased_pages(), static_cast<std::int32_t>(pages));
      }
      EXPECT_EQ(cache.MatchLength(ns, Count(0, pages * size)),
                static_cast<std::int64_t>(pages * size));
      EXPECT_INVARIANTS(cache);
    }
  }
}

}  // namespace
}  // namespace banyan::radix
