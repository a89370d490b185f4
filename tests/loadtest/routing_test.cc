#include "loadtest/simulate/routing.h"

#include <cstdint>
#include <vector>

#include "gtest/gtest.h"

namespace banyan::loadtest {
namespace {

using Load = std::vector<std::int64_t>;

// A router of as many replicas as `load` has, and what each has cached.
std::int32_t PickByPrefix(const Load& load, const Load& cached) {
  Router router(Routing::kPrefixAware, static_cast<std::int32_t>(load.size()));
  return router.Pick(load, {}, [&](std::int32_t i) { return cached[static_cast<std::size_t>(i)]; });
}

std::int64_t NotAsked(std::int32_t) {
  ADD_FAILURE() << "asked what is cached";
  return 0;
}

std::int32_t PickByHash(std::int32_t replicas, const Load& load, TokenId beginning) {
  Router router(Routing::kConsistentHash, replicas);
  return router.Pick(load, std::vector<TokenId>{beginning}, NotAsked);
}

TEST(Routing, HasANameThatIsReadBack) {
  for (const Routing routing : {Routing::kRoundRobin, Routing::kLeastLoaded, Routing::kPrefixAware,
                                Routing::kConsistentHash}) {
    EXPECT_EQ(ParseRouting(Name(routing)), routing);
  }
  EXPECT_EQ(ParseRouting("random"), std::nullopt);
}

TEST(Routing, RoundRobinTakesTurnsWhateverTheLoad) {
  Router router(Routing::kRoundRobin, 3);
  const Load load = {9, 0, 5};
  std::vector<std::int32_t> picked;
  for (int i = 0; i < 5; ++i) picked.push_back(router.Pick(load, {}, NotAsked));
  EXPECT_EQ(picked, (std::vector<std::int32_t>{0, 1, 2, 0, 1}));
}

TEST(Routing, LeastLoadedTakesTheFirstOfEquals) {
  Router router(Routing::kLeastLoaded, 3);
  EXPECT_EQ(router.Pick(Load{2, 1, 1}, {}, NotAsked), 1);
  EXPECT_EQ(router.Pick(Load{0, 0, 0}, {}, NotAsked), 0);
}

TEST(Routing, PrefixAwareTakesTheLongestPrefix) {
  EXPECT_EQ(PickByPrefix({0, 1, 2}, {10, 30, 20}), 1);
  EXPECT_EQ(PickByPrefix({3, 1, 2}, {20, 20, 20}), 1) << "of equals the least loaded";
  EXPECT_EQ(PickByPrefix({1, 1, 1}, {0, 0, 0}), 0);
}

TEST(Routing, PrefixAwareAvoidsWhoIsMuchBusier) {
  const std::int64_t bound = 2 * 3 + kBusierBy;
  EXPECT_EQ(PickByPrefix({3, bound - 1}, {0, 100}), 1);
  EXPECT_EQ(PickByPrefix({3, bound}, {0, 100}), 1);
  EXPECT_EQ(PickByPrefix({3, bound + 1}, {0, 100}), 0);
}

TEST(Routing, HashTakesAConversationToTheSameReplica) {
  for (TokenId token = 0; token < 50; ++token) {
    EXPECT_EQ(PickByHash(4, {0, 0, 0, 0}, token), PickByHash(4, {1, 1, 1, 1}, token));
  }
}

TEST(Routing, HashSpreadsConversations) {
  Load count(4);
  for (TokenId token = 0; token < 4000; ++token) {
    ++count[static_cast<std::size_t>(PickByHash(4, {0, 0, 0, 0}, token))];
  }
  for (const std::int64_t one : count) EXPECT_NEAR(static_cast<double>(one), 1000, 350);
}

TEST(Routing, OneReplicaMoreTakesOverItsShareAndMovesNothingElse) {
  int moved = 0;
  for (TokenId token = 0; token < 2000; ++token) {
    const std::int32_t before = PickByHash(4, {0, 0, 0, 0}, token);
    const std::int32_t after = PickByHash(5, {0, 0, 0, 0, 0}, token);
    if (before == after) continue;
    EXPECT_EQ(after, 4);
    ++moved;
  }
  EXPECT_NEAR(moved, 400, 150);
}

// With this request there are 9: a quarter more than the mean of two is 5.625, and 6 may be there.
TEST(Routing, HashKeepsLoadsWithinTheirBound) {
  TokenId token = 0;
  while (PickByHash(2, {0, 0}, token) != 0) ++token;
  EXPECT_EQ(PickByHash(2, {4, 4}, token), 0);
  EXPECT_EQ(PickByHash(2, {5, 3}, token), 0);
  EXPECT_EQ(PickByHash(2, {6, 2}, token), 1);
}

TEST(Routing, OfOneReplicaThereIsNoChoice) {
  for (const Routing routing : {Routing::kRoundRobin, Routing::kLeastLoaded, Routing::kPrefixAware,
                                Routing::kConsistentHash}) {
    Router router(routing, 1);
    for (const std::int64_t load : {0, 1, 1000}) {
      EXPECT_EQ(router.Pick(Load{load}, {}, [](std::int32_t) { return std::int64_t{0}; }), 0);
    }
  }
}

}  // namespace
}  // namespace banyan::loadtest
