// Keeps the cached length of every watch true while the tree changes, at the cost of what changes.
//
// A watch hangs at the node in whose edge its last whole matching page lies (at the root while it
// has none), at a place: the number of its whole pages. What goes on from there decides about the
// rest of its match: the edge's next page or, where the edge ends, the first pages of the children.
//
//     root . . . . . . . . .  w1 w2     match no whole page
//       |  p0 p1 p2
//       |   . .  . . . . . .  w3        matches p0, and perhaps a part of p1
//       N . . .  . . . . . .  w4 w5     match p0 p1 p2; children may match in part
//      / \                              at N: w3 at place 1, w4 and w5 at place 3
//
// Let a page P appear or vanish at a place where the other pages share at most its first `known`
// tokens. The matches that change are those of the watches at that place which go on like P for
// more than `known` tokens. Without P each of them has just `known` tokens there: a page that gave
// more would share more with P. All others have as much from another page as from P. So the
// watches at a place are kept in the order of their next tokens, in which those that change are
// neighbours.
//
// Cost: a change of the tree looks up its node, O(1). Where watches hang there, O(log watches), and
// for each one whose length changes O(log watches) and the tokens that it compares anew. A split
// changes no length; it moves the watches of the part that has fewer of them.
//
// Internal to this room.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "radix/node.h"
#include "radix/options.h"
#include "radix/watch.h"

namespace banyan::radix {

// Tokens in lexicographic order; the first two of them decide most comparisons.
struct NextPage {
  explicit NextPage(std::span<const TokenId> page);
  friend std::strong_ordering operator<=>(const NextPage& a, const NextPage& b);
  std::uint64_t order;
  std::span<const TokenId> tokens;  // at most a page
};
struct WatchEntry {
  std::int64_t place = 0;  // whole pages from the root
  NextPage next;           // the tokens that follow these in the watch's prompt
  Watch* watch = nullptr;  // null in a query, which comes before all that are alike
};
struct WatchOrder {
  bool operator()(const WatchEntry& a, const WatchEntry& b) const;
};
using WatchSet = absl::btree_set<WatchEntry, WatchOrder>;

// All watches that hang at a node; at least one.
struct WatchStation {
  NodeIndex node = kNoNode;
  std::int64_t start = 0;  // pages from the root to where the node's edge begins
  WatchSet watches;
};

class Watches {
 public:
  Watches(const NodeTable& nodes, const Options& options)
      : nodes_(nodes), page_size_(options.page_size), options_(options) {}
  ~Watches();  // all were stopped
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  // Whether a watch hangs at `node`. Under a root without children all hang at the root.
  bool Any(NodeIndex node) const { return !stations_.empty() && stations_.contains(node); }

  // Lengths are those of matches; what a watch says is what a match of that length can give.
  // `watch` matches `length` tokens and hangs at `node`, whose edge begins behind `start` pages.
  void Start(Watch& watch, NodeIndex node, std::int64_t start, std::int64_t length);
  void Stop(Watch& watch);
  Watch* TakeChanged();  // as in prefix_cache.h
  // How many watches were looked at for all that happened: what keeping them true has cost.
  std::int64_t visits() const { return visits_; }

  // What happens to the branches:
  // Behind the edge of `end`, which does not show it yet, comes `run` as part of `node`: a new
  // child, or `end` itself.
  void OnExtend(NodeIndex end, NodeIndex node, std::span<const TokenId> run, std::int32_t known);
  // Only the first `pages` pages of `node`, a leaf that still has all of them, will stay.
  void OnCut(NodeIndex node, std::int32_t pages);
  // `parent` has lost `child`, which still has its pages.
  void OnRemove(NodeIndex child, NodeIndex parent, std::int32_t known);
  void OnSplit(NodeIndex upper, NodeIndex lower);
  // Takes off all watches that hang at `nodes`, which are about to go; and hangs them, with nothing
  // matched, at a root without children.
  std::vector<Watch*> Uproot(std::span<const NodeIndex> nodes);
  void Plant(std::span<Watch* const> watches, NodeIndex root);

 private:
  friend class Audit;
  friend class TreePeer;

  WatchStation* Find(NodeIndex node);
  WatchEntry Entry(Watch& watch) const;
  // The watches at `place` whose next tokens begin with `prefix` match `length` tokens.
  void Shorten(WatchStation& station, std::int64_t place, std::span<const TokenId> prefix,
               std::int64_t length);
  // Those from `first` on match `length` tokens and hang at `node`.
  void Lift(WatchStation& from, WatchSet::iterator first, NodeIndex node, std::int64_t start,
            std::int64_t length);
  void Hang(std::span<Watch* const> watches, NodeIndex node, std::int64_t start);
  void DropIfEmpty(WatchStation& station);
  void SetLength(Watch& watch, std::int64_t length);
  void LinkChanged(Watch& watch);
  void UnlinkChanged(Watch& watch);

  const NodeTable& nodes_;
  const std::int32_t page_size_;
  const Options options_;
  absl::flat_hash_map<NodeIndex, std::unique_ptr<WatchStation>> stations_;
  std::int64_t count_ = 0;
  std::uint64_t started_ = 0;
  std::int64_t visits_ = 0;
  Watch* first_changed_ = nullptr;  // in the order in which they changed
  Watch* last_changed_ = nullptr;
};

}  // namespace banyan::radix
