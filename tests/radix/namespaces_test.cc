// Namespaces that come and go: which are kept, and which are forgotten. Pages of four tokens.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "radix/prefix_cache.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

// At most three empty ones are kept.
class NamespacesTest : public testing::Test {
 protected:
  void TearDown() override { EXPECT_INVARIANTS(cache_); }

  NamespaceId Name(const std::string& name) {
    const NamespaceId id = cache_.OpenNamespace(name);
    ids_[name] = id;
    return id;
  }
  // Whether it was never forgotten since Name(name). It is known in the end, in any case.
  bool IsKnown(const std::string& name) { return cache_.OpenNamespace(name) == ids_.at(name); }
  // What requests leave behind is gone.
  void EvictAll() {
    View view = cache_.Open(Name("evicts"), {}, 0);
    ASSERT_TRUE(cache_.Grow(view, static_cast<std::int32_t>(cache_.available_pages())));
  }

  PrefixCache cache_{Options{.page_size = 4, .pages = 8, .max_empty_namespaces = 3}};
  std::map<std::string, NamespaceId> ids_;
};

TEST_F(NamespacesTest, EmptyOnesAreKeptUpToTheBound) {
  Name("a");
  Name("b");
  EXPECT_EQ(cache_.stats().namespaces, 2);
  Name("c");
  EXPECT_EQ(cache_.stats().namespaces, 3);
  EXPECT_TRUE(IsKnown("a") && IsKnown("b") && IsKnown("c"));
  Name("d");
  EXPECT_EQ(cache_.stats().namespaces, 3);
  EXPECT_TRUE(IsKnown("b") && IsKnown("c") && IsKnown("d"));
  EXPECT_FALSE(IsKnown("a"));
}

TEST_F(NamespacesTest, TheOneThatHasBeenEmptyTheLongestGoesFirst) {
  for (const char* name : {"a", "b", "c"}) Name(name);
  { const View view = cache_.Open(ids_["a"], {}, 0); }  // empty again, and so the last to be
  Name("d");
  EXPECT_TRUE(IsKnown("a"));
  EXPECT_FALSE(IsKnown("b"));
}

TEST_F(NamespacesTest, ToBeNamedAgainIsNotToBeUsed) {
  for (const char* name : {"a", "b", "c", "a", "d"}) Name(name);
  EXPECT_EQ(cache_.stats().namespaces, 3);
  EXPECT_TRUE(IsKnown("b"));
}

TEST_F(NamespacesTest, OnesWithPagesAreKept) {
  Cache(cache_, Name("a"), Count(0, 4));
  Cache(cache_, Name("tail"), Count(0, 1));
  for (int i = 0; i < 10; ++i) Name("other " + std::to_string(i));
  EXPECT_EQ(cache_.stats().namespaces, 5);
  EXPECT_EQ(cache_.MatchLength(ids_["a"], Count(0, 4)), 4);
  EXPECT_TRUE(IsKnown("a") && IsKnown("tail"));
}

TEST_F(NamespacesTest, OnesWithoutAreEmptyFromTheEvictionOn) {
  Cache(cache_, Name("a"), Count(0, 8));
  Name("b");
  Name("c");
  EvictAll();  // now "a" is empty, and then "evicts"
  Name("d");   // two too many
  EXPECT_EQ(cache_.stats().namespaces, 3);
  EXPECT_TRUE(IsKnown("a"));
  EXPECT_FALSE(IsKnown("b"));
  EXPECT_FALSE(IsKnown("c"));
}

TEST_F(NamespacesTest, OnesWithOpenViewsAreKept) {
  View nothing = cache_.Open(Name("a"), {}, 0);
  View page = cache_.Open(Name("b"), {}, 0);
  GrowTo(cache_, page, 2);
  for (int i = 0; i < 10; ++i) Name("other " + std::to_string(i));
  EXPECT_TRUE(IsKnown("a") && IsKnown("b"));
  cache_.Append(page, Count(0, 2));
  cache_.Close(nothing, PrefixCache::Tail::kAdopt);
  cache_.Close(page, PrefixCache::Tail::kDiscard);
  for (int i = 0; i < 2; ++i) Name("another " + std::to_string(i));
  EXPECT_TRUE(IsKnown("b"));
  EXPECT_FALSE(IsKnown("a"));
}

TEST_F(NamespacesTest, MovingAViewKeepsItsNamespace) {
  View view = cache_.Open(Name("a"), {}, 0);
  View moved = std::move(view);
  for (int i = 0; i < 10; ++i) Name("other " + std::to_string(i));
  EXPECT_TRUE(IsKnown("a"));
}

TEST_F(NamespacesTest, OnesWithWatchesAreKept) {
  const Tokens prompt = Count(0, 8);
  Watch waits(nullptr);
  Watch also_waits(nullptr);
  Cache(cache_, Name("a"), prompt);
  cache_.StartWatch(waits, ids_["a"], prompt);
  cache_.StartWatch(also_waits, Name("b"), prompt);
  for (int round = 0; round < 2; ++round) {  // when its pages are evicted, and when it is flushed
    for (int i = 0; i < 10; ++i) Name("other " + std::to_string(i));
    EXPECT_TRUE(IsKnown("a") && IsKnown("b"));
    EvictAll();
    EXPECT_EQ(waits.cached_tokens(), 0);
    cache_.Flush(ids_["a"]);
  }
  cache_.StopWatch(waits);
  cache_.StopWatch(also_waits);
  for (int i = 0; i < 2; ++i) Name("another " + std::to_string(i));
  EXPECT_TRUE(IsKnown("b"));
  EXPECT_FALSE(IsKnown("a"));
}

TEST_F(NamespacesTest, AFlushedOneIsEmpty) {
  for (const char* name : {"a", "b", "c", "d"}) Cache(cache_, Name(name), Count(0, 8));
  EXPECT_EQ(cache_.stats().namespaces, 4);
  cache_.Flush(ids_["c"]);
  cache_.Flush(ids_["b"]);
  cache_.Flush(ids_["b"]);  // does not make it any younger
  cache_.Flush(ids_["d"]);
  Name("e");
  EXPECT_FALSE(IsKnown("c"));
  EXPECT_TRUE(cache_.MatchLength(Name("a"), Count(0, 8)) > 0);
}

TEST_F(NamespacesTest, AViewFromBeforeTheFlushOutlivesItsNamespace) {
  Cache(cache_, Name("a"), Count(0, 4));
  View view = Compute(cache_, ids_["a"], Count(0, 6));
  cache_.Flush(ids_["a"]);
  for (int i = 0; i < 10; ++i) Name("other " + std::to_string(i));
  EXPECT_FALSE(IsKnown("a"));
  Cache(cache_, Name("a"), Count(0, 4));
  EXPECT_FALSE(cache_.Publishes(view));
  GrowTo(cache_, view, 9);
  cache_.Append(view, Count(6, 3));
  EXPECT_INVARIANTS(cache_);
  cache_.Close(view, PrefixCache::Tail::kAdopt);
  EXPECT_EQ(cache_.MatchLength(Name("a"), Count(0, 9)), 4);
  EXPECT_EQ(Pages(cache_, PageState::kFree), 7);
}

TEST_F(NamespacesTest, AForgottenNameIsANewNamespaceLater) {
  Cache(cache_, Name("a"), Count(0, 4));
  const NamespaceId before = ids_["a"];
  cache_.Flush(before);
  for (const char* name : {"b", "c", "d"}) Name(name);
  EXPECT_NE(Name("a"), before);
  EXPECT_EQ(cache_.MatchLength(ids_["a"], Count(0, 4)), 0);
}

// The place of a forgotten namespace is used again, but its id means no other one.
TEST_F(NamespacesTest, AnIdIsNeverGivenTwice) {
  std::vector<NamespaceId> ids;
  for (int i = 0; i < 100; ++i) ids.push_back(Name(std::to_string(i)));
  std::sort(ids.begin(), ids.end());
  EXPECT_EQ(std::adjacent_find(ids.begin(), ids.end()), ids.end());
}

using NamespacesDeathTest = NamespacesTest;

TEST_F(NamespacesDeathTest, AnIdThatOutlivedItsNamespaceIsFoundOut) {
  for (const char* name : {"a", "b", "c", "d"}) Name(name);
  EXPECT_DEATH((void)cache_.MatchLength(ids_["a"], Count(0, 4)), "CHECK failed");
  Name("e");  // takes the place
  EXPECT_DEATH((void)cache_.MatchLength(ids_["a"], Count(0, 4)), "CHECK failed");
}

TEST_F(NamespacesDeathTest, AtLeastOneIsKept) {
  EXPECT_DEATH(PrefixCache(Options{.page_size = 4, .pages = 8, .max_empty_namespaces = 0}),
               "CHECK failed");
  PrefixCache one(Options{.page_size = 4, .pages = 8, .max_empty_namespaces = 1});
  one.OpenNamespace("a");
  EXPECT_EQ(one.MatchLength(one.OpenNamespace("b"), Count(0, 4)), 0);
  EXPECT_EQ(one.stats().namespaces, 1);
}

TEST(ManyNamespaces, CostBoundedMemory) {
  constexpr std::int32_t kPages = 64;
#ifdef NDEBUG
  constexpr int kNames = 100'000;
#else
  constexpr int kNames = 3'000;  // all is checked after each operation
#endif
  PrefixCache cache(Options{.page_size = 4, .pages = kPages});
  for (int i = 0; i < kNames; ++i) {
    const NamespaceId id = cache.OpenNamespace("tenant " + std::to_string(i));
    Cache(cache, id, Count(i, static_cast<std::size_t>(1 + i % 11)));
    ASSERT_GT(cache.MatchLength(id, Count(i, 1)), 0);
    ASSERT_LE(cache.stats().namespaces, kPages + kMaxEmptyNamespaces + 1);
  }
  EXPECT_INVARIANTS(cache);
  EXPECT_GT(cache.stats().namespaces, kMaxEmptyNamespaces);
  // The latest are known, with what they cached.
  const std::string last = "tenant " + std::to_string(kNames - 1);
  EXPECT_GT(cache.MatchLength(cache.OpenNamespace(last), Count(kNames - 1, 1)), 0);
}

TEST(ManyNamespaces, TheDefaultBoundIsMetExactly) {
  PrefixCache cache(Options{.page_size = 4, .pages = 8});
  for (int i = 0; i < kMaxEmptyNamespaces - 1; ++i) cache.OpenNamespace(std::to_string(i));
  EXPECT_EQ(cache.stats().namespaces, kMaxEmptyNamespaces - 1);
  cache.OpenNamespace("at the bound");
  EXPECT_EQ(cache.stats().namespaces, kMaxEmptyNamespaces);
  cache.OpenNamespace("above");
  EXPECT_EQ(cache.stats().namespaces, kMaxEmptyNamespaces);
}

}  // namespace
}  // namespace banyan::radix
