// What each policy gives up first. (LRU, the default, has eviction_test.cc and the models.)
#include <cstdint>
#include <vector>

#include "gtest/gtest.h"
#include "radix/eviction.h"
#include "radix/prefix_cache.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

class Policies {
 public:
  explicit Policies(Eviction eviction)
      : cache_(Options{.page_size = 4, .pages = 8, .eviction = eviction}) {}
  ~Policies() {
    occupied_.clear();
    EXPECT_INVARIANTS(cache_);
  }

  // A prompt of two pages that shares nothing with those of other names.
  static Tokens Of(TokenId name) { return Count(1000 * name, 8); }
  void Enter(TokenId name) { Cache(cache_, ns_, Of(name)); }
  void Match(TokenId name) { const View view = cache_.Open(ns_, Of(name), 8); }
  void LetViewsPass(int views) {
    for (int i = 0; i < views; ++i) const View view = cache_.Open(ns_, {}, 0);
  }
  void Occupy(std::int32_t pages) {
    View view = cache_.Open(ns_, {}, 0);
    ASSERT_TRUE(cache_.Grow(view, pages));
    occupied_.push_back(std::move(view));
  }
  void Release() { occupied_.clear(); }
  // The names of which both pages are cached.
  std::vector<TokenId> Cached() const {
    std::vector<TokenId> names;
    for (TokenId name = 1; name <= 9; ++name) {
      if (cache_.MatchLength(ns_, Of(name)) == 8) names.push_back(name);
    }
    return names;
  }
  PrefixCache& cache() { return cache_; }
  NamespaceId ns() const { return ns_; }

 private:
  PrefixCache cache_;
  NamespaceId ns_ = cache_.OpenNamespace("");
  std::vector<View> occupied_;
};

using Names = std::vector<TokenId>;

TEST(EvictionPolicy, HasANameThatIsReadBack) {
  for (const Eviction eviction : kEvictions) EXPECT_EQ(ParseEviction(Name(eviction)), eviction);
  EXPECT_EQ(ParseEviction("LRU"), std::nullopt);
  EXPECT_EQ(ParseEviction(""), std::nullopt);
}

TEST(EvictionPolicy, FifoTakesWhatEnteredFirstHoweverOftenItIsUsed) {
  Policies p(Eviction::kFifo);
  for (const TokenId name : {1, 2, 3, 4}) p.Enter(name);
  for (int i = 0; i < 5; ++i) p.Match(1);
  p.Enter(2);  // the tree has it: it does not enter again
  p.Occupy(2);
  EXPECT_EQ(p.Cached(), (Names{2, 3, 4}));
  p.Occupy(2);
  EXPECT_EQ(p.Cached(), (Names{3, 4}));
}

TEST(EvictionPolicy, LfuTakesWhatWasMatchedLeastOftenAndOfEqualsTheOldest) {
  Policies p(Eviction::kLfu);
  for (const TokenId name : {1, 2, 3, 4}) p.Enter(name);
  p.Match(1);
  p.Match(1);
  p.Match(2);
  p.Occupy(2);
  EXPECT_EQ(p.Cached(), (Names{1, 2, 4}));
  p.Occupy(2);
  EXPECT_EQ(p.Cached(), (Names{1, 2}));
  p.Occupy(2);
  EXPECT_EQ(p.Cached(), (Names{1}));
}

TEST(EvictionPolicy, LfuForgetsWhatLeft) {
  Policies p(Eviction::kLfu);
  p.Occupy(4);
  p.Enter(1);
  p.Match(1);
  p.Enter(2);
  p.Match(2);
  p.Match(2);
  p.Enter(3);
  EXPECT_EQ(p.Cached(), (Names{2, 3}));  // 1 gave way, with its count
  p.Enter(1);
  EXPECT_EQ(p.Cached(), (Names{1, 2}));
  p.Enter(3);
  EXPECT_EQ(p.Cached(), (Names{2, 3}));
}

TEST(EvictionPolicy, OneReuseIsWorthSoManyViews) {
  for (const bool outlived : {true, false}) {
    Policies p(Eviction::kReuse);
    p.Enter(1);
    p.Match(1);
    p.LetViewsPass(static_cast<int>(kReuseViews) - (outlived ? 1 : 0));
    p.Enter(2);
    p.Occupy(6);
    EXPECT_EQ(p.Cached(), outlived ? Names{1} : Names{2});
  }
}

TEST(EvictionPolicy, ReusesCountUpToABound) {
  for (const bool outlived : {true, false}) {
    Policies p(Eviction::kReuse);
    p.Enter(1);
    for (std::uint64_t i = 0; i < kMostReuses + 1; ++i) p.Match(1);
    p.LetViewsPass(static_cast<int>(kMostReuses * kReuseViews) - (outlived ? 1 : 0));
    p.Enter(2);
    p.Occupy(6);
    EXPECT_EQ(p.Cached(), outlived ? Names{1} : Names{2});
  }
}

TEST(EvictionPolicy, WithoutAnyReuseItIsLru) {
  Policies p(Eviction::kReuse);
  for (const TokenId name : {3, 1, 4, 2}) p.Enter(name);
  p.Occupy(4);
  EXPECT_EQ(p.Cached(), (Names{2, 4}));
}

TEST(EvictionPolicy, WhatComesBackCountsAsReused) {
  for (const Eviction eviction : {Eviction::kLru, Eviction::kReuse}) {
    Policies p(eviction);
    p.Occupy(4);
    for (const TokenId name : {1, 2, 3}) p.Enter(name);  // 1 gives way
    p.Enter(1);                                          // and comes back; 2 gives way
    p.Enter(4);
    EXPECT_EQ(p.Cached(), (Names{1, 4}));
    p.Enter(5);
    EXPECT_EQ(p.Cached(), eviction == Eviction::kReuse ? (Names{1, 5}) : (Names{4, 5}));
  }
}

// Of a path that comes back, only what had left is taken for reused.
TEST(EvictionPolicy, PagesThatCameBackAndNewOnesAreTwoNodes) {
  Policies p(Eviction::kReuse);
  p.Enter(1);
  p.Occupy(7);  // one page of the two gives way
  EXPECT_EQ(p.cache().MatchLength(p.ns(), Policies::Of(1)), 4);
  p.Release();
  Cache(p.cache(), p.ns(), Policies::Of(1) + Count(500, 8));
  EXPECT_EQ(p.cache().stats().nodes, 3);  // what was matched, what came back, what is new
}

// New pages do not inherit what the pages before them are worth.
TEST(EvictionPolicy, PagesBehindReusedOnesAreANodeOfTheirOwn) {
  for (const Eviction eviction : kEvictions) {
    Policies p(eviction);
    p.Enter(1);
    Cache(p.cache(), p.ns(), Policies::Of(1) + Count(500, 4));
    const bool one_node = eviction == Eviction::kLru || eviction == Eviction::kFifo;
    EXPECT_EQ(p.cache().stats().nodes, one_node ? 1 : 2) << Name(eviction);
  }
}

// Ranks only grow, and a parent that was not below its child is not afterwards.
TEST(EvictionPolicy, KeepsParentsNotBelowTheirChildren) {
  for (const Eviction eviction : kEvictions) {
    const auto policy = MakePolicy(eviction);
    LogicalTime now{.uses = 1, .views = 1};
    Rank parent = policy->Enter(now, 0);
    Rank child = policy->Enter(now, 0);
    std::uint64_t random = 1;
    for (int step = 0; step < 5000; ++step) {
      random = random * 6364136223846793005 + 1442695040888963407;
      now.uses += random >> 60;
      now.views += random >> 63;
      const Rank before = child;
      if ((random >> 40) % 3 == 0) {
        parent = policy->After(TouchKind::kMatched, parent, now);
        child = policy->After(TouchKind::kMatched, child, now);
      } else {
        const auto kind = (random >> 41) % 2 == 0 ? TouchKind::kExtended : TouchKind::kFound;
        child = policy->After(kind, child, now);
        parent = policy->AtLeast(parent, child);
      }
      ASSERT_GE(parent, child) << Name(eviction) << ", step " << step;
      ASSERT_GE(child, before) << Name(eviction) << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace banyan::radix
