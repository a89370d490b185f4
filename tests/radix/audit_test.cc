// The invariant checker finds what is wrong: each test breaks one thing behind the tree's back.
#include "radix/audit.h"

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "radix/tree.h"
#include "tests/radix/serve.h"
#include "tests/radix/tree_peer.h"

namespace banyan::radix {

namespace {

using testing::HasSubstr;

// A tree with a bit of everything:
//
//   root -- 0..7 -- 8..11           leased by `leased_`, which also has an open page
//             |---- 20 21 22        a tail, the source of a copy to the page of `copier_`
//             |---- 30..37          a leaf that nobody uses
class AuditTest : public testing::Test {
 protected:
  AuditTest() {
    const auto open = [&](const Tokens& tokens) {
      View view = tree_.Open(ns_, tokens, static_cast<std::int64_t>(tokens.size()));
      const auto pages = static_cast<std::int32_t>((tokens.size() + 3) / 4) - view.leased_pages();
      CHECK(tree_.Grow(view, pages));
      if (tree_.PendingCopy(view).has_value()) tree_.CopyDone(view);
      tree_.Append(view, Rest(tokens, view.tokens()), PrefixCache::Exactness::kExact);
      return view;
    };
    const auto cache = [&](const Tokens& tokens) {
      View view = open(tokens);
      tree_.Close(view, PrefixCache::Tail::kAdopt);
    };
    cache(Count(0, 8) + Count(20, 3));
    cache(Count(0, 8) + Count(30, 8));
    leased_ = open(Count(0, 13));
    copier_ = tree_.Open(ns_, Count(0, 8) + Count(20, 2), 10);
    CHECK(tree_.Grow(copier_, 1));
  }

  // The first node that looks like that.
  NodeIndex Find(const std::function<bool(const Node&)>& like) {
    NodeTable& nodes = TreePeer::Nodes(tree_);
    for (NodeIndex index = 0; index < nodes.end(); ++index) {
      if (nodes[index].live && like(nodes[index])) return index;
    }
    CHECK(false);
  }
  NodeIndex FindByToken(TokenId first) {
    return Find([&](const Node& node) {
      return !node.edge.tokens().empty() && node.edge.tokens()[0] == first;
    });
  }
  Node& At(NodeIndex index) { return TreePeer::Nodes(tree_)[index]; }

  // Does `damage`, expects the checker to say `what`, undoes it and expects it to be content.
  void ExpectFound(const std::string& what, const std::function<void()>& damage,
                   const std::function<void()>& undo) {
    damage();
    EXPECT_THAT(std::string(tree_.CheckInvariants().message()), HasSubstr(what));
    undo();
    EXPECT_EQ(tree_.CheckInvariants().message(), "");
  }

  Tree tree_{Options{.page_size = 4, .pages = 16}, nullptr};
  NamespaceId ns_ = tree_.OpenNamespace("");
  View leased_;
  View copier_;
};

TEST_F(AuditTest, ASoundTreePasses) { EXPECT_EQ(tree_.CheckInvariants().message(), ""); }

TEST_F(AuditTest, FindsAPinTooManyAndOneTooFew) {
  Node& node = At(FindByToken(8));
  ExpectFound(
      "pins that do not add up", [&] { ++node.pins; }, [&] { --node.pins; });
  Node& parent = At(FindByToken(0));
  ExpectFound(
      "pins that do not add up", [&] { --parent.pins; }, [&] { ++parent.pins; });
}

TEST_F(AuditTest, FindsALeakedPage) {
  PageId page = kNoPage;
  ExpectFound(
      "another state than its holders say",
      [&] { page = TreePeer::Pool(tree_).Allocate(PageState::kOpen); },
      [&] { TreePeer::Pool(tree_).Free(page); });
}

TEST_F(AuditTest, FindsALeasedPageThatWasFreed) {
  TreePeer::Pool(tree_).Free(leased_.page_table()[2]);
  EXPECT_THAT(std::string(tree_.CheckInvariants().message()),
              HasSubstr("another state than its holders say"));
  EXPECT_EQ(TreePeer::Pool(tree_).Allocate(PageState::kOpen), leased_.page_table()[2]);
  TreePeer::Pool(tree_).EnterTree(leased_.page_table()[2], Tick(0));
}

TEST_F(AuditTest, FindsTokensThatChanged) {
  const NodeIndex node = FindByToken(30);
  auto* token = const_cast<TokenId*>(At(node).edge.tokens().data());
  ExpectFound(
      "filed under other tokens", [&] { *token = 31; }, [&] { *token = 30; });
}

TEST_F(AuditTest, FindsSiblingsThatAreAlike) {
  const NodeIndex tail = FindByToken(20);
  auto* tokens = const_cast<TokenId*>(At(tail).edge.tokens().data());
  // 30 31 32 is a prefix of 30 31 32 33.
  ExpectFound(
      "alike", [&] { std::iota(tokens, tokens + 3, 30); },
      [&] { std::iota(tokens, tokens + 3, 20); });
}

TEST_F(AuditTest, FindsAParentThatGoesBeforeItsChild) {
  Node& parent = At(FindByToken(0));
  const Rank rank = parent.rank;
  ExpectFound(
      "a parent that goes before", [&] { parent.rank = 0; }, [&] { parent.rank = rank; });
}

TEST_F(AuditTest, FindsAStaleEvictionIndex) {
  Node& leaf = At(FindByToken(30));
  ExpectFound(
      "eviction index", [&] { --leaf.rank; }, [&] { ++leaf.rank; });
  ExpectFound(
      "eviction index", [&] { leaf.indexed = false; }, [&] { leaf.indexed = true; });
}

TEST_F(AuditTest, FindsAGapWhereNoneMayBe) {
  PageGap& gap = TreePeer::Gap(leased_);
  ExpectFound(
      "in a view that publishes", [&] { gap = {.front = 3, .dropped = 1}; }, [&] { gap = {}; });
  CHECK(tree_.Grow(leased_, 2));
  tree_.Append(leased_, Count(13, 8), PrefixCache::Exactness::kInexact);
  tree_.Drop(leased_, 3, 4);
  ExpectFound(
      "a gap within a lease", [&] { --gap.front; }, [&] { ++gap.front; });
  ExpectFound(
      "where no tokens are", [&] { gap.dropped += 2; }, [&] { gap.dropped -= 2; });
  ExpectFound(
      "another state than its holders say", [&] { ++gap.dropped; }, [&] { --gap.dropped; });
}

TEST_F(AuditTest, FindsACopyThatNobodyCounts) {
  auto& copies = TreePeer::Copies(tree_);
  const auto entry = *copies.begin();
  ExpectFound(
      "a copy that nobody counts", [&] { copies.clear(); }, [&] { copies.insert(entry); });
  ExpectFound(
      "copies in flight that do not add up", [&] { ++copies.begin()->second.copies; },
      [&] { --copies.begin()->second.copies; });
  ExpectFound(
      "does not continue its view", [&] { copies.begin()->second.node = FindByToken(30); },
      [&] { copies.begin()->second.node = entry.second.node; });
  using enum CopySource::Keeper;
  for (const auto& [keeper, what] : {std::pair(kLeases, "changed hands unnoticed"),
                                     std::pair(kNobody, "changed hands unnoticed"),
                                     std::pair(kView, "does not continue its view")}) {
    ExpectFound(
        what, [&] { copies.begin()->second.keeper = keeper; },
        [&] { copies.begin()->second.keeper = kNode; });
  }
}

TEST_F(AuditTest, FindsACopyFromAnotherViewsPage) {
  View producer = tree_.Open(ns_, {}, 0);
  View stranger = tree_.Open(ns_, {}, 0);
  const Tokens tokens = {90, 91, 92};
  ASSERT_TRUE(tree_.Grow(producer, 2));
  ASSERT_TRUE(tree_.Grow(stranger, 1));
  tree_.Append(producer, tokens, PrefixCache::Exactness::kExact);
  View copier = tree_.Open(ns_, tokens, 3);
  ASSERT_EQ(tree_.CheckInvariants().message(), "");
  auto& copies = TreePeer::Copies(tree_);
  ExpectFound(
      "changed hands unnoticed",
      [&] { copies.at(producer.page_table()[0]).keeper = CopySource::Keeper::kNobody; },
      [&] { copies.at(producer.page_table()[0]).keeper = CopySource::Keeper::kView; });
  auto* table = const_cast<PageId*>(producer.page_table().data());
  ExpectFound(
      "does not continue its view", [&] { std::swap(table[0], table[1]); },
      [&] { std::swap(table[0], table[1]); });
  PageId& other = const_cast<PageId&>(stranger.page_table()[0]);
  ExpectFound(
      "does not continue its view", [&] { std::swap(table[0], other); },
      [&] { std::swap(table[0], other); });
}

TEST_F(AuditTest, FindsAViewListedWhereItsLeaseDoesNotEnd) {
  auto& views = TreePeer::Views(tree_);
  const NodeIndex tip = FindByToken(8);
  const NodeIndex elsewhere = FindByToken(30);
  ExpectFound(
      "a view in the wrong list",
      [&] {
        views[elsewhere] = views.at(tip);
        views.erase(tip);
      },
      [&] {
        views[tip] = views.at(elsewhere);
        views.erase(elsewhere);
      });
}

TEST_F(AuditTest, FindsAHoldWithoutACopy) {
  Node& leaf = At(FindByToken(30));
  const NodeIndex parent = leaf.parent;
  ExpectFound(
      "held by no copy", [&] { TreePeer::Shape(tree_).Hold(FindByToken(30)); },
      [&] {
        TreePeer::Shape(tree_).Unhold(FindByToken(30));
        TreePeer::Shape(tree_).Unpin(parent);
      });
}

TEST_F(AuditTest, FindsALeaseOnANodeThatIsGone) {
  Node& node = At(FindByToken(8));
  ExpectFound(
      "a lease on a node that is gone", [&] { ++node.generation; }, [&] { --node.generation; });
}

TEST_F(AuditTest, FindsAPageTableThatDoesNotFollowItsLease) {
  auto* table = const_cast<PageId*>(leased_.page_table().data());
  ExpectFound(
      "does not follow its lease", [&] { std::swap(table[0], table[1]); },
      [&] { std::swap(table[0], table[1]); });
}

TEST_F(AuditTest, FindsAPageInTwoPlaces) {
  auto* table = const_cast<PageId*>(leased_.page_table().data());
  const PageId own = table[3];
  ExpectFound(
      "a page in two places", [&] { table[3] = table[0]; }, [&] { table[3] = own; });
}

TEST_F(AuditTest, FindsWrongCounts) {
  std::int64_t& tokens = TreePeer::CachedTokens(tree_);
  ExpectFound(
      "cached tokens", [&] { ++tokens; }, [&] { --tokens; });
}

TEST_F(AuditTest, FindsANamespaceWronglyThoughtEmptyOrInUse) {
  Namespaces& names = TreePeer::Names(tree_);
  const NodeIndex used = names.Root(ns_);
  ExpectFound(
      "wrongly among the empty ones", [&] { names.SetEmpty(used, true); },
      [&] { names.SetEmpty(used, false); });
  const NodeIndex empty = names.Root(tree_.OpenNamespace("empty"));
  ExpectFound(
      "wrongly among the empty ones", [&] { names.SetEmpty(empty, false); },
      [&] { names.SetEmpty(empty, true); });
}

TEST_F(AuditTest, FindsTwoNamespacesOnOneRoot) {
  NodeIndex& root = TreePeer::RootOf(TreePeer::Names(tree_), tree_.OpenNamespace("other"));
  const NodeIndex own = root;
  ExpectFound(
      "without a root of its own", [&] { root = FindByToken(0); }, [&] { root = own; });
  ExpectFound(
      "is not found again", [&] { root = TreePeer::Nodes(tree_).Allocate(); },
      [&] { TreePeer::Nodes(tree_).Free(std::exchange(root, own)); });
}

TEST_F(AuditTest, FindsANodeThatNoRootLeadsTo) {
  NodeIndex lost = kNoNode;
  NodeTable& nodes = TreePeer::Nodes(tree_);
  ExpectFound(
      "a root nobody knows", [&] { lost = nodes.Allocate(); }, [&] { nodes.Free(lost); });
}

// Two prompts wait: one ends inside the edge 0..7, one in a leaf behind it, and that one has
// changed.
class AuditWatchTest : public AuditTest {
 protected:
  AuditWatchTest() {
    tree_.StartWatch(inside_, ns_, std::span(tokens_).first(7));
    tree_.StartWatch(behind_, ns_, tokens_);
    View view = tree_.Open(ns_, Count(0, 8), 8);
    CHECK(tree_.Grow(view, 1));
    tree_.Append(view, Count(40, 3), PrefixCache::Exactness::kExact);
    tree_.Close(view, PrefixCache::Tail::kAdopt);
  }
  NodeIndex Hanging() { return FindByToken(0); }
  WatchStation& Station() { return *TreePeer::Stations(tree_).at(Hanging()); }

  const Tokens tokens_ = Count(0, 8) + Tokens{40, 41, 90};
  Watch inside_{nullptr};
  Watch behind_{nullptr};
};

TEST_F(AuditWatchTest, SoundWatchesPass) { EXPECT_EQ(tree_.CheckInvariants().message(), ""); }

TEST_F(AuditWatchTest, FindsALengthThatIsNotThatOfTheMatch) {
  std::int64_t& length = TreePeer::Length(behind_);
  ExpectFound(
      "another length than its match", [&] { --length; }, [&] { ++length; });
}

TEST_F(AuditWatchTest, FindsAWatchThatHangsNowhere) {
  std::unique_ptr<WatchStation> station;
  ExpectFound(
      "hang nowhere",
      [&] {
        station = std::move(TreePeer::Stations(tree_)[Hanging()]);
        TreePeer::Stations(tree_).erase(Hanging());
        TreePeer::FirstChanged(tree_) = TreePeer::LastChanged(tree_) = nullptr;
      },
      [&] {
        TreePeer::Stations(tree_)[Hanging()] = std::move(station);
        TreePeer::FirstChanged(tree_) = TreePeer::LastChanged(tree_) = &behind_;
      });
}

TEST_F(AuditWatchTest, FindsAWatchAtAnotherNode) {
  Watches& watches = TreePeer::Shape(tree_).watches();
  const auto move = [&](NodeIndex node) {
    watches.Stop(inside_);
    watches.Start(inside_, node, 0, 7);
  };
  ExpectFound(
      "hangs elsewhere", [&] { move(FindByToken(30)); }, [&] { move(Hanging()); });
}

TEST_F(AuditWatchTest, FindsAStationWithAnotherStartOrNode) {
  ExpectFound(
      "hangs elsewhere", [&] { ++Station().start; }, [&] { --Station().start; });
  ExpectFound(
      "under another node", [&] { ++Station().node; }, [&] { --Station().node; });
}

TEST_F(AuditWatchTest, FindsAWatchAtAnotherPlace) {
  auto& entry = const_cast<WatchEntry&>(*Station().watches.begin());
  ExpectFound(
      "filed under other tokens", [&] { --entry.place; }, [&] { ++entry.place; });
}

TEST_F(AuditWatchTest, FindsAChangeThatIsNotListed) {
  Watch*& first = TreePeer::FirstChanged(tree_);
  ExpectFound(
      "wrongly in the list", [&] { first = &inside_; }, [&] { first = &behind_; });
  Watch*& last = TreePeer::LastChanged(tree_);
  ExpectFound(
      "not listed", [&] { first = last = nullptr; }, [&] { first = last = &behind_; });
}

}  // namespace
}  // namespace banyan::radix
