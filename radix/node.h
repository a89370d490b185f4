// A node of the tree, and the table that nodes live in.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "radix/blocks.h"
#include "radix/edge.h"
#include "radix/eviction.h"
#include "radix/lease.h"
#include "radix/siblings.h"

namespace banyan::radix {

// One line of the processor's cache: a large tree is in no cache, and each line is waited for.
struct alignas(64) Node {
  Edge edge;  // from the parent to here; empty for a root
  Siblings children;
  Rank rank = 0;                 // in eviction
  Tick last_match{0};            // when it was entered or last matched
  NodeIndex parent = kNoNode;    // kNoNode for a root
  std::uint32_t generation = 0;  // counts up when the place is given back
  std::uint32_t pins = 0;        // leases that end here + children that are kept
  bool live = false;
  bool held = false;      // the first page is the source of a copy in flight
  bool detached = false;  // flushed, and still pinned
  bool indexed = false;   // the eviction policy has it

  // Whether it keeps its ancestors from being evicted.
  bool kept() const { return pins > 0 || held; }
  bool is_root() const { return parent == kNoNode; }
};
static_assert(sizeof(Node) == 64);

// Places are reused; references to nodes stay valid while the table grows.
class NodeTable {
 public:
  NodeTable() = default;
  NodeTable(const NodeTable&) = delete;
  NodeTable& operator=(const NodeTable&) = delete;
  ~NodeTable();

  NodeIndex Allocate();
  void Free(NodeIndex index);

  Node& operator[](NodeIndex index) {
    if (index < kFirstNodes) return reinterpret_cast<Node*>(slabs_[0].get())[index];
    const NodeIndex beyond = index - kFirstNodes;
    return reinterpret_cast<Node*>(slabs_[1 + beyond / kNodes].get())[beyond % kNodes];
  }
  const Node& operator[](NodeIndex index) const { return const_cast<NodeTable&>(*this)[index]; }
  Blocks& blocks() { return blocks_; }  // of edges and forks
  NodeRef Ref(NodeIndex index) const { return {index, (*this)[index].generation}; }
  // The place of a node that must still be the one that `ref` was made for.
  NodeIndex Resolve(NodeRef ref) const;

  NodeIndex end() const { return end_; }  // of all places
  std::int64_t live() const { return end_ - static_cast<std::int64_t>(free_.size()); }

 private:
  static constexpr NodeIndex kFirstNodes = kFirstSlabBytes / sizeof(Node);  // in the first slab
  static constexpr NodeIndex kNodes = kSlabBytes / sizeof(Node);            // in each further one
  Blocks blocks_;                                                           // outlive the nodes
  std::vector<Slab> slabs_;
  NodeIndex end_ = 0;
  std::vector<NodeIndex> free_;
};

}  // namespace banyan::radix
