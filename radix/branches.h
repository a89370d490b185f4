// The shape of the tree: who is whose child, what is pinned, and what may be evicted.
//
//   split of an edge at a page border: the lower part keeps its index, so that leases, which end
//   where an edge ends, stay right; the upper part is a new node.
//
//        parent                     parent
//          |  a b c d   -- 2 -->      |  a b      new node
//          N                          U
//                                     |  c d
//                                     N           children, pins and leases as before
//
// It tells the watches of all that changes a match. It knows nothing of page states, views or
// namespaces.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/clock.h"
#include "base/ids.h"
#include "radix/eviction.h"
#include "radix/eviction_index.h"
#include "radix/node.h"
#include "radix/watches.h"

namespace banyan::radix {

class Branches {
 public:
  explicit Branches(const Options& options);

  NodeTable& nodes() { return nodes_; }
  const NodeTable& nodes() const { return nodes_; }
  const EvictionIndex& eviction() const { return eviction_; }
  Watches& watches() { return watches_; }
  const Watches& watches() const { return watches_; }
  std::int64_t edges() const { return edges_; }          // nodes that carry pages
  std::int64_t evictable() const { return evictable_; }  // pages that Evict could take in the end

  // Where a path of tokens leads.
  struct Match {
    NodeIndex node = kNoNode;  // the deepest node whose edge matches whole, in whole pages
    std::int64_t length = 0;   // tokens from the root to the end of its edge
    NodeIndex next = kNoNode;  // its child that matches in part, if one does
    std::int32_t common = 0;   // how many tokens of `next`
  };
  Match Find(NodeIndex root, std::span<const TokenId> tokens) const;
  // Starts a watch on tokens that match so.
  void StartWatch(Watch& watch, const Match& match);
  // How many pages that Evict could take would be pinned by leasing all whole pages of a match, and
  // holding the page that matches in part.
  std::int64_t EvictablePages(const Match& match) const;
  // A child that has the longest common run with `tokens` (not empty), and its length. kNoNode when
  // none has the first token. O(log children + run).
  struct Step {
    NodeIndex child = kNoNode;
    std::int32_t common = 0;
    bool whole = false;  // the run is all of the child's edge
  };
  Step BestChild(NodeIndex parent, std::span<const TokenId> tokens) const;

  NodeIndex AddRoot();
  // An unpinned leaf.
  NodeIndex AddChild(NodeIndex parent, Edge edge, LogicalTime time, Tick now,
                     std::uint32_t reuses = 0);
  // Cuts the edge of `node` behind its first `pages` pages; returns the new upper node.
  NodeIndex Split(NodeIndex node, std::int32_t pages);
  // Whether pages that are new may be appended to the node's edge, as its policy of eviction sees
  // it.
  bool MayGrow(NodeIndex node) const { return policy_->MayGrow(nodes_[node].rank); }
  std::uint32_t Reuses(NodeIndex node) const { return policy_->Reuses(nodes_[node].rank); }
  void AppendToEdge(NodeIndex node, std::span<const PageId> pages, std::span<const TokenId> tokens);
  // Takes the last page off an unpinned leaf, and the leaf off the tree with its last page.
  struct Popped {
    PageId page;
    std::int32_t tokens;
  };
  Popped PopPage(NodeIndex node);
  // A childless node that is not kept; its pages are the caller's to give up.
  void Remove(NodeIndex node);

  // Pins a node and what is above it.
  void Pin(NodeIndex node);
  // Takes one pin from this node only. True when it is not kept any more: then the caller, once
  // done with the node, unpins the parent.
  bool Unpin(NodeIndex node);
  // Says that a copy in flight reads the node's first page; pins what is above it.
  void Hold(NodeIndex node);
  bool Unhold(NodeIndex node);  // as Unpin
  void Touch(NodeIndex node, TouchKind touch, LogicalTime time, Tick now);
  // Raises the rank of the parent to that of `node`, so that parents are never below.
  void RaiseParent(NodeIndex node);
  void MarkDetached(NodeIndex node);  // a pinned node that is not held

 private:
  std::int64_t EvictablePages(const Node& node) const;
  void PrefetchVictims() const;
  // Applies a change that bears on what may be evicted.
  template <class F>
  void Change(NodeIndex node, F change);

  const std::int32_t page_size_;
  NodeTable nodes_;
  Watches watches_;
  const std::unique_ptr<const EvictionPolicy> policy_;
  EvictionIndex eviction_;
  std::int64_t edges_ = 0;
  std::int64_t evictable_ = 0;
};

}  // namespace banyan::radix
