// The leaves that have a page to give, by rank: unpinned ones, and not merely the source of a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "absl/container/btree_set.h"
#include "radix/eviction.h"

namespace banyan::radix {

// The lowest rank first; of equals, the leaf with the smaller index. A B-tree, O(log leaves): the
// first leaves, which are evicted, and under most policies the last ones, which were just used,
// stay in the processor's cache, where a heap would move entries all over.
class EvictionIndex {
 public:
  void Insert(std::uint32_t leaf, Rank rank);  // a leaf is not inserted twice
  void Erase(std::uint32_t leaf, Rank rank);   // it was inserted so
  std::uint32_t Victim() const;                // not empty; the leaf stays in
  // The first of those to be victims in turn, as things are, into `leaves`; returns their number.
  std::size_t Victims(std::span<std::uint32_t> leaves) const;

  std::size_t size() const { return leaves_.size(); }
  // Whether `leaf` is in, with that rank (for the invariant checker).
  bool Contains(std::uint32_t leaf, Rank rank) const;

 private:
  absl::btree_set<std::pair<Rank, std::uint32_t>> leaves_;
};

}  // namespace banyan::radix
