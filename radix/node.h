// A node of the tree, and the table that nodes live in.
#pragma once

#include <compare>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/btree_set.h"
#include "base/clock.h"
#include "base/ids.h"
#include "radix/edge.h"
#include "radix/lease.h"

namespace banyan::radix {

using NodeIndex = std::uint32_t;
inline constexpr NodeIndex kNoNode = UINT32_MAX;

class NodeTable;

// A child in its parent's set. `order` is the first two tokens of its edge, so that most
// comparisons do not visit the child.
struct Child {
  std::uint64_t order = 0;
  NodeIndex node = kNoNode;
};
// What a child is looked up by: the tokens that follow, at most a page of them.
struct ChildQuery {
  explicit ChildQuery(std::span<const TokenId> page);
  friend std::strong_ordering operator<=>(const ChildQuery& a, const ChildQuery& b);
  std::uint64_t order;
  std::span<const TokenId> tokens;
};
// Lexicographic by the tokens of the first page.
class ChildOrder {
 public:
  using is_transparent = void;
  explicit ChildOrder(const NodeTable* nodes) : nodes_(nodes) {}
  bool operator()(const Child& a, const Child& b) const;
  bool operator()(const Child& a, const ChildQuery& b) const;
  bool operator()(const ChildQuery& a, const Child& b) const;

 private:
  const NodeTable* nodes_;
};
using ChildSet = absl::btree_set<Child, ChildOrder>;

struct Node {
  Edge edge;                           // from the parent to here; empty for a root
  std::unique_ptr<ChildSet> children;  // null when there are none
  std::uint64_t last_use = 0;          // logical, for eviction
  Tick last_match{0};                  // when it was entered or last matched
  NodeIndex parent = kNoNode;          // kNoNode for a root
  std::uint32_t generation = 0;        // counts up when the place is given back
  std::uint32_t pins = 0;              // leases that end here + children that are kept
  bool live = false;
  bool held = false;      // the first page is the source of a copy in flight
  bool detached = false;  // flushed, and still pinned
  bool indexed = false;   // the eviction policy has it

  // Whether it keeps its ancestors from being evicted.
  bool kept() const { return pins > 0 || held; }
  bool is_root() const { return parent == kNoNode; }
};

// Places are reused; references to nodes stay valid while the table grows.
class NodeTable {
 public:
  NodeIndex Allocate();
  void Free(NodeIndex index);

  Node& operator[](NodeIndex index) { return nodes_[index]; }
  const Node& operator[](NodeIndex index) const { return nodes_[index]; }
  NodeRef Ref(NodeIndex index) const { return {index, nodes_[index].generation}; }
  // The place of a node that must still be the one that `ref` was made for.
  NodeIndex Resolve(NodeRef ref) const;

  NodeIndex end() const { return static_cast<NodeIndex>(nodes_.size()); }  // of all places
  std::int64_t live() const { return static_cast<std::int64_t>(nodes_.size() - free_.size()); }

 private:
  std::deque<Node> nodes_;
  std::vector<NodeIndex> free_;
};

}  // namespace banyan::radix
