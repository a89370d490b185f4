// What two tokens side by side become: a hash table whose entries lie in one array, so that a
// look-up costs one cache line. Immutable once made, thread-safe.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/ids.h"

namespace banyan::text {

class PairTable {
 public:
  struct Merge {
    std::int32_t rank = 0;
    TokenId id = 0;  // what the pair becomes
  };

  explicit PairTable(std::size_t pairs) : entries_(std::bit_ceil(2 * pairs + 2)) {}

  bool empty() const { return count_ == 0; }

  // Replaces what the pair had. At most as many pairs as the table was made for.
  void Set(TokenId left, TokenId right, Merge merge) {
    Entry& entry = entries_[Place(left, right)];
    if (entry.left == kNone) ++count_;
    entry = {.left = left, .right = right, .merge = merge};
  }
  // Null when the pair does not merge.
  const Merge* Find(TokenId left, TokenId right) const {
    const Entry& entry = entries_[Place(left, right)];
    return entry.left == kNone ? nullptr : &entry.merge;
  }

 private:
  static constexpr TokenId kNone = -1;
  struct Entry {
    TokenId left = kNone;
    TokenId right = 0;
    Merge merge;
  };

  // Where the pair is, or would be. At most half of the entries are used, so the walk ends.
  std::size_t Place(TokenId left, TokenId right) const {
    const std::uint64_t key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
                              static_cast<std::uint32_t>(right);
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = (key * 0x9E3779B97F4A7C15u) >> 32 & mask;
    while (entries_[at].left != kNone &&
           (entries_[at].left != left || entries_[at].right != right)) {
      at = (at + 1) & mask;
    }
    return at;
  }

  std::vector<Entry> entries_;  // a power of two
  std::size_t count_ = 0;
};

}  // namespace banyan::text
