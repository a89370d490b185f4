// The children of a node beside a sorted set of their first pages.
#include "radix/siblings.h"

#include <algorithm>
#include <map>
#include <random>

#include "base/common_length.h"
#include "gtest/gtest.h"
#include "radix/node.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

class SiblingsTest : public testing::Test {
 protected:
  static constexpr std::int32_t kPageSize = 6;

  NodeIndex Add(const Tokens& page) {
    const NodeIndex node = nodes_.Allocate();
    const PageId id = 0;
    nodes_[node].edge = Edge(nodes_.blocks(), kPageSize, {&id, 1}, page);
    siblings_.Insert(nodes_, node);
    pages_.emplace(page, node);
    return node;
  }
  void Drop(const Tokens& page) {
    const NodeIndex node = pages_.at(page);
    siblings_.Erase(nodes_, node);
    nodes_.Free(node);
    pages_.erase(page);
  }
  // No page here is a prefix of it, nor it of one.
  bool MayAdd(const Tokens& page) const {
    return std::none_of(pages_.begin(), pages_.end(), [&](const auto& other) {
      const auto common = static_cast<std::size_t>(CommonLength(other.first, page));
      return common == page.size() || common == other.first.size();
    });
  }
  void CheckFind(const Tokens& tokens) const {
    std::int32_t longest = 0;
    for (const auto& [page, node] : pages_) {
      longest = std::max(longest, static_cast<std::int32_t>(CommonLength(page, tokens)));
    }
    const Siblings::Best best = siblings_.Find(nodes_, tokens);
    ASSERT_EQ(best.common, longest);
    if (longest == 0) {
      ASSERT_EQ(best.child, kNoNode);
    } else {
      ASSERT_EQ(CommonLength(nodes_[best.child].edge.tokens(), tokens), longest);
    }
  }
  void CheckOrder() const {
    std::vector<NodeIndex> in_order;
    siblings_.ForEach([&](NodeIndex node) { in_order.push_back(node); });
    std::vector<NodeIndex> expected;
    for (const auto& [page, node] : pages_) expected.push_back(node);
    ASSERT_EQ(in_order, expected);
    ASSERT_TRUE(pages_.empty() || siblings_.IsSound(nodes_));
    ASSERT_EQ(siblings_.empty(), pages_.empty());
  }

  NodeTable nodes_;
  Siblings siblings_;
  std::map<Tokens, NodeIndex> pages_;
};

TEST_F(SiblingsTest, AgreeWithASortedSet) {
  std::mt19937 random(11);
  for (int step = 0; step < 30000; ++step) {
    Tokens page(1 + random() % kPageSize);
    // Many begin alike, and zeros are the token that a short page could be mistaken for.
    for (TokenId& token : page) token = static_cast<TokenId>(random() % 8 < 6 ? 0 : random() % 3);
    if (pages_.contains(page)) {
      if (random() % 2 == 0) Drop(page);
    } else if (MayAdd(page)) {
      Add(page);
    } else if (!pages_.empty() && random() % 4 == 0) {
      Drop(std::next(pages_.begin(), static_cast<long>(random() % pages_.size()))->first);
    }
    CheckFind(page);
    if (HasFailure()) return;
    if (step % 16 == 0) CheckOrder();
  }
  while (!pages_.empty()) Drop(pages_.begin()->first);
  CheckOrder();
}

TEST_F(SiblingsTest, AreFoundWhereverTheyPartFromWhatIsAskedFor) {
  Add({5, 5, 5, 5, 5, 1});
  Add({5, 5, 5, 5, 5, 2});
  Add({5, 5, 5, 7});
  Add({5, 6});
  Add({9});
  CheckOrder();
  for (const Tokens& tokens : {Tokens{5},
                               {5, 5},
                               {5, 5, 5},
                               {5, 5, 5, 5},
                               {5, 5, 5, 5, 5},
                               {5, 5, 5, 5, 5, 2},
                               {5, 5, 5, 5, 5, 3},
                               {5, 5, 5, 5, 4, 1},
                               {5, 5, 5, 4},
                               {5, 5, 4},
                               {5, 4},
                               {4},
                               {9, 9},
                               {9, 0},
                               {5, 6, 0}}) {
    CheckFind(tokens);
  }
}

TEST_F(SiblingsTest, OneMayTakeThePlaceOfAnotherThatBeginsAlike) {
  Add({5, 5, 5, 1});
  const NodeIndex old = Add({5, 5, 5, 2});
  const NodeIndex by = nodes_.Allocate();
  const PageId id = 1;
  nodes_[by].edge = Edge(nodes_.blocks(), kPageSize, {&id, 1}, Tokens{5, 5, 5, 2});
  siblings_.Replace(nodes_, old, by);
  EXPECT_EQ(siblings_.Find(nodes_, Tokens{5, 5, 5, 2}).child, by);
}

TEST_F(SiblingsTest, NoneIsAPrefixOfAnother) {
  Add({5, 5, 5});
  EXPECT_DEATH(Add({5, 5}), "CHECK failed");
  EXPECT_DEATH(Add({5, 5, 5}), "CHECK failed");
  EXPECT_DEATH(Add({5, 5, 5, 5}), "CHECK failed");
}

}  // namespace
}  // namespace banyan::radix
