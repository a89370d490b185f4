// Remembers, of pages that were evicted lately, how often they had been matched: a page that comes
// back is one that is used again, however long ago it was last seen. (2Q and ARC keep such lists of
// what left: Johnson, Shasha 1994; Megiddo, Modha 2003.)
//
// A page is known by a hash of all tokens up to its end. It serves as a hint alone: two pages that
// are taken for one another cost a worse choice of what to evict, and nothing else. 16 bytes for
// each page of the pool in a table of lines, one of the processor's cache each, in which the oldest
// entry makes room; and 8 bytes for its hash.
//
// Internal to this room.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace banyan::radix {

// So many times the pages of the pool are remembered.
inline constexpr std::int64_t kRememberedPools = 4;

class Departed {
 public:
  explicit Departed(std::int32_t pages);

  // `pages` enter the tree with `tokens`, behind page `before` (kNoPage: at the root of
  // `name_space`). How many of them, at least one, are alike: have come back as often.
  struct Alike {
    std::int32_t pages = 0;
    std::uint32_t reuses = 0;  // 0: not remembered; else those before, and this one
  };
  Alike Enter(NamespaceId name_space, PageId before, std::span<const PageId> pages,
              std::span<const TokenId> tokens);
  void EnterTail(PageId page) { hashes_[static_cast<std::size_t>(page)] = 0; }  // is not remembered
  void Leave(PageId page, std::uint32_t reuses);  // evicted, after so many

 private:
  // | 1 | hash: 27 bits | reuses: 4 bits |, the latest first; 0: none.
  struct alignas(64) Line {
    std::array<std::uint32_t, 16> entries{};
  };

  // The last bit of every hash is set.
  Line& LineOf(std::uint64_t hash) { return lines_[(hash >> 1) % lines_.size()]; }
  std::uint32_t Recall(std::uint64_t hash);

  std::vector<std::uint64_t> hashes_;  // by page of the tree; 0: a tail
  std::vector<Line> lines_;
};

}  // namespace banyan::radix
