// The children of a node beside a sorted set of their first pages.
#include "radix/siblings.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "base/common_length.h"
#include "gtest/gtest.h"
#include "radix/node.h"
#include "tests/radix/serve.h"

namespace banyan::radix {
namespace {

class SiblingsTest : public testing::Test {
 protected:
  ~SiblingsTest() override { siblings_.Clear(nodes_); }

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
    ASSERT_EQ(best.is_prefix, longest > 0 && nodes_[best.child].edge.token_count() == longest);
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

// Pages whose third token decides, in its last byte (`high` is above it).
Tokens Page(TokenId high, TokenId low) { return {7, 7, high << 8 | low, 7}; }

// A fork of each size, and one entry more and fewer: all are found, in order, and what is not there
// is not.
TEST_F(SiblingsTest, AreFoundWhateverTheirNumber) {
  std::vector<TokenId> bytes(256);
  std::iota(bytes.begin(), bytes.end(), 0);
  std::shuffle(bytes.begin(), bytes.end(), std::mt19937(3));
  const auto check = [&] {
    CheckOrder();
    for (const TokenId byte : bytes) CheckFind(Page(0, byte));
    CheckFind({7, 7});
    CheckFind(Page(1, 5));
    CheckFind({7, 6, 5});
  };
  for (const TokenId byte : bytes) {
    Add(Page(0, byte));
    check();
    if (HasFailure()) return;
  }
  // Out in another order; at every border of sizes once more in and out.
  std::shuffle(bytes.begin(), bytes.end(), std::mt19937(4));
  for (const TokenId byte : bytes) {
    Drop(Page(0, byte));
    check();
    Add(Page(0, byte));
    check();
    Drop(Page(0, byte));
    if (HasFailure()) return;
  }
  CheckOrder();
}

// Two pages that part at each byte of a page, and a third that parts from both at each.
TEST_F(SiblingsTest, PartAtAnyByte) {
  constexpr std::int32_t kBytes = kPageSize * 4;
  const Tokens base(kPageSize, 0x11223344);
  const auto differing = [&](std::int32_t byte, std::uint32_t by) {
    Tokens page = base;
    page[static_cast<std::size_t>(byte / 4)] ^= static_cast<TokenId>(by << (24 - byte % 4 * 8));
    return page;
  };
  for (std::int32_t first = 0; first < kBytes; ++first) {
    for (std::int32_t second = 0; second < kBytes; ++second) {
      Add(base);
      Add(differing(first, 1));
      Add(differing(second, 2));
      CheckOrder();
      for (std::int32_t byte = 0; byte < kBytes; ++byte) {
        const Tokens asked = differing(byte, 3);
        for (std::size_t size = 1; size <= asked.size(); ++size) {
          CheckFind({asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(size)});
        }
      }
      Drop(differing(first, 1));
      CheckOrder();
      Drop(base);
      Drop(differing(second, 2));
      if (HasFailure()) return;
    }
  }
}

// The number of different tokens, and how often they are the same as in the page before.
class SiblingsOfAVocabulary : public SiblingsTest,
                              public testing::WithParamInterface<std::pair<std::uint32_t, int>> {};

TEST_P(SiblingsOfAVocabulary, AgreeWithASortedSet) {
  const auto [vocabulary, alike] = GetParam();
  std::mt19937 random(vocabulary);
  Tokens page(kPageSize);
  for (int step = 0; step < 4000; ++step) {
    page.resize(random() % 8 == 0 ? 1 + random() % kPageSize : kPageSize);
    for (TokenId& token : page) {
      if (static_cast<int>(random() % 100) >= alike)
        token = static_cast<TokenId>(random() % vocabulary);
    }
    CheckFind(page);
    const bool grows = step % 2000 < 1200;
    if (!grows && !pages_.empty()) {
      const auto near = pages_.lower_bound(page);
      const Tokens gone = near == pages_.end() ? pages_.begin()->first : near->first;
      Drop(gone);
      CheckFind(gone);
    } else if (MayAdd(page)) {
      Add(page);
    }
    if (HasFailure()) return;
    if (step % 64 == 0) CheckOrder();
  }
  CheckOrder();
}
INSTANTIATE_TEST_SUITE_P(Vocabularies, SiblingsOfAVocabulary,
                         testing::Values(std::pair{2U, 0}, std::pair{300U, 0}, std::pair{300U, 90},
                                         std::pair{50'000U, 0}, std::pair{50'000U, 90},
                                         std::pair{0x7FFFFFFFU, 0}, std::pair{0x7FFFFFFFU, 90}));

TEST_F(SiblingsTest, NoneIsAPrefixOfAnother) {
  Add({5, 5, 5});
  EXPECT_DEATH(Add({5, 5}), "CHECK failed");
  EXPECT_DEATH(Add({5, 5, 5}), "CHECK failed");
  EXPECT_DEATH(Add({5, 5, 5, 5}), "CHECK failed");
}

}  // namespace
}  // namespace banyan::radix
