// The children of one node, in the lexicographic order of their first pages.
//
// An adaptive radix tree (Leis, Kemper, Neumann: "The Adaptive Radix Tree: ARTful Indexing for
// Main-Memory Databases", ICDE 2013) over the bytes of the tokens of these pages. A fork stands
// only where they part, and has room for about as many as there are:
//
//      byte 3 ┬─ 1 ────────────────── c      1 2       (tokens below 256: only the last byte of
//             ├─ 3 ── byte 15 ┬─ 6 ── d      3 4 5 6    each is not zero)
//             │               └─ 7 ── e      3 4 5 7
//             └─ 5 ────────────────── f      5
//
// So the bytes that all have in common, as are the high ones of most tokens, cost nothing, and a
// million random children are three or four forks high, the upper ones in the processor's cache.
// Tokens are compared wherever forks skip more than they remember: what is found is exact.
//
// Internal to this room.
#pragma once

#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"
#include "base/ids.h"
#include "radix/fork.h"

namespace banyan::radix {

inline constexpr NodeIndex kNoNode = UINT32_MAX;

class NodeTable;

// Its forks are in the memory of the table: whoever has children left erases or clears them.
class Siblings {
 public:
  Siblings() = default;
  Siblings(const Siblings&) = delete;
  Siblings& operator=(const Siblings&) = delete;

  bool empty() const { return top_.empty(); }
  // `child`, whose first page is no prefix of another's, nor another's of it.
  void Insert(NodeTable& nodes, NodeIndex child);
  // `child` is here, under the tokens that it still has.
  void Erase(NodeTable& nodes, NodeIndex child);
  void Clear(NodeTable& nodes);
  // `by` has the same first page as `child`, and takes its place.
  void Replace(const NodeTable& nodes, NodeIndex child, NodeIndex by);

  // One of those that share the longest run with `tokens`, which are at least one and at most a
  // page. kNoNode when none has the first token. The same one for the same history.
  struct Best {
    NodeIndex child;
    std::int32_t common;
    bool is_prefix;  // all of the child's first page is in the run
  };
  Best Find(const NodeTable& nodes, std::span<const TokenId> tokens) const;

  void ForEach(absl::FunctionRef<void(NodeIndex)> f) const;  // in order
  // Whether everything here is where it would be looked for (for the invariant checker).
  bool IsSound(const NodeTable& nodes) const;

 private:
  using Target = Fork::Target;

  // Where tokens lead: all at `at` have the same `depth` first bytes as they, and not the next one.
  struct Parting {
    Fork* above = nullptr;  // the fork that leads to `at`
    Target at;
    std::int32_t depth = 0;
  };
  Parting Follow(const NodeTable& nodes, std::span<const TokenId> tokens) const;
  // Where the child with this page is.
  struct Place {
    Target* fork = nullptr;  // the place of the fork that leads there; null at the top
    Target* child;
  };
  Place PlaceOf(std::span<const TokenId> page);

  Target top_;
};

}  // namespace banyan::radix
