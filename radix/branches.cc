#include "radix/branches.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/check.h"
#include "base/common_length.h"

namespace banyan::radix {

Branches::Branches(const Options& options)
    : page_size_(options.page_size),
      watches_(nodes_, options),
      policy_(MakePolicy(options.eviction)) {}

Branches::Match Branches::Find(NodeIndex root, std::span<const TokenId> tokens) const {
  Match match{.node = root};
  while (match.length < static_cast<std::int64_t>(tokens.size())) {
    const Step step = BestChild(match.node, tokens.subspan(static_cast<std::size_t>(match.length)));
    if (step.child == kNoNode) break;
    if (!step.whole || nodes_[step.child].edge.has_tail()) {
      match.next = step.child;
      match.common = step.common;
      break;
    }
    match.node = step.child;
    match.length += step.common;
  }
  return match;
}

void Branches::StartWatch(Watch& watch, const Match& match) {
  const std::int64_t length = match.length + match.common;
  const std::int64_t end = match.length / page_size_;
  if (match.common >= page_size_) {
    watches_.Start(watch, match.next, end, length);
  } else {
    watches_.Start(watch, match.node, end - nodes_[match.node].edge.page_count(), length);
  }
}

std::int64_t Branches::EvictablePages(const Match& match) const {
  std::int64_t pages = 0;
  // Above a pinned node everything is pinned.
  for (NodeIndex at = match.node; at != kNoNode && nodes_[at].pins == 0; at = nodes_[at].parent) {
    pages += EvictablePages(nodes_[at]);
  }
  if (match.next != kNoNode && nodes_[match.next].pins == 0) {
    pages += (match.common + page_size_ - 1) / page_size_ - (nodes_[match.next].held ? 1 : 0);
  }
  return pages;
}

Branches::Step Branches::BestChild(NodeIndex parent, std::span<const TokenId> tokens) const {
  const Node& node = nodes_[parent];
  const auto page = tokens.first(std::min(tokens.size(), static_cast<std::size_t>(page_size_)));
  auto [child, common, whole] = node.children.Find(nodes_, page);
  if (common == page_size_) {
    const std::span<const TokenId> edge = nodes_[child].edge.tokens();
    common = CommonLength(edge, tokens);
    whole = static_cast<std::size_t>(common) == edge.size();
  }
  return {child, common, whole};
}

NodeIndex Branches::AddRoot() { return nodes_.Allocate(); }

NodeIndex Branches::AddChild(NodeIndex parent, Edge edge, LogicalTime time, Tick now,
                             std::uint32_t reuses) {
  const NodeIndex index = nodes_.Allocate();
  Node& node = nodes_[index];
  node.parent = parent;
  node.rank = policy_->Enter(time, reuses);
  node.last_match = now;
  ++edges_;
  Change(index, [&] { node.edge = std::move(edge); });
  if (watches_.Any(parent)) {
    const std::int32_t known = BestChild(parent, node.edge.first_page()).common;
    watches_.OnExtend(parent, index, node.edge.tokens(), known);
  }
  Change(parent, [&] { nodes_[parent].children.Insert(nodes_, index); });
  return index;
}

NodeIndex Branches::Split(NodeIndex lower_index, std::int32_t pages) {
  const NodeIndex upper_index = nodes_.Allocate();
  Node& lower = nodes_[lower_index];
  Node& upper = nodes_[upper_index];
  const NodeIndex parent = lower.parent;
  upper.parent = parent;
  upper.rank = lower.rank;
  upper.last_match = lower.last_match;
  ++edges_;
  const bool held = lower.held;  // of the first page, which goes to the upper node
  Edge front;
  Change(lower_index, [&] {
    front = lower.edge.TakeFront(pages);
    lower.held = false;
    lower.parent = upper_index;
  });
  // The parent keeps its pins: it has a kept child exactly if it had one.
  Change(upper_index, [&] {
    upper.edge = std::move(front);
    upper.pins = lower.pins > 0 ? 1 : 0;
    upper.held = held;
    upper.detached = lower.detached;
    upper.children.Insert(nodes_, lower_index);
  });
  nodes_[parent].children.Replace(nodes_, lower_index, upper_index);
  watches_.OnSplit(upper_index, lower_index);
  return upper_index;
}

void Branches::AppendToEdge(NodeIndex index, std::span<const PageId> pages,
                            std::span<const TokenId> tokens) {
  watches_.OnExtend(index, index, tokens, 0);
  Change(index, [&] { nodes_[index].edge.Append(pages, tokens); });
}

// Evictions come many in a row, at places that have nothing to do with one another: those of the
// next ones are fetched while this one works, the node first and a turn later its edge.
void Branches::PrefetchVictims() const {
  std::array<NodeIndex, 4> victims;
  const std::size_t size = eviction_.Victims(victims);
  if (size > 3) __builtin_prefetch(&nodes_[victims[3]]);
  if (size > 2) nodes_[victims[2]].edge.Prefetch();
}

Branches::Popped Branches::PopPage(NodeIndex index) {
  PrefetchVictims();
  Edge& edge = nodes_[index].edge;
  Popped popped{.page = edge.pages().back(), .tokens = edge.token_count()};
  if (edge.page_count() == 1) {
    Remove(index);
  } else {
    watches_.OnCut(index, edge.page_count() - 1);
    Change(index, [&] { popped.tokens = edge.PopPage(); });
  }
  return popped;
}

void Branches::Remove(NodeIndex index) {
  Node& node = nodes_[index];
  CHECK(node.children.empty() && !node.kept());
  const NodeIndex parent = node.parent;
  if (parent != kNoNode) {
    Change(parent, [&] { nodes_[parent].children.Erase(nodes_, index); });
    --edges_;
    if (watches_.Any(parent) || watches_.Any(index)) {
      watches_.OnRemove(index, parent, BestChild(parent, node.edge.first_page()).common);
    }
  }
  Change(index, [&] { node.edge = Edge(); });
  nodes_.Free(index);
}

void Branches::Pin(NodeIndex index) {
  for (bool go_on = true; go_on;) {
    Node& node = nodes_[index];
    go_on = !node.kept() && !node.is_root();
    Change(index, [&] { ++node.pins; });
    index = node.parent;
  }
}

bool Branches::Unpin(NodeIndex index) {
  Node& node = nodes_[index];
  CHECK(node.pins > 0);
  if (node.pins == 1) RaiseParent(index);
  Change(index, [&] { --node.pins; });
  return !node.kept();
}

void Branches::Hold(NodeIndex index) {
  Node& node = nodes_[index];
  CHECK(!node.held && !node.is_root());
  const bool kept = node.kept();
  Change(index, [&] { node.held = true; });
  if (!kept) Pin(node.parent);
}

bool Branches::Unhold(NodeIndex index) {
  Node& node = nodes_[index];
  CHECK(node.held);
  Change(index, [&] { node.held = false; });
  return !node.kept();
}

void Branches::Touch(NodeIndex index, TouchKind touch, LogicalTime time, Tick now) {
  Node& node = nodes_[index];
  if (node.indexed) {  // keyed by the rank: out, and in again by Change
    eviction_.Erase(index, node.rank);
    node.indexed = false;
  }
  Change(index, [&] {
    node.rank = policy_->After(touch, node.rank, time);
    node.last_match = now;
  });
}

void Branches::RaiseParent(NodeIndex index) {
  const Node& node = nodes_[index];
  if (node.is_root()) return;
  Node& parent = nodes_[node.parent];
  CHECK(!parent.indexed);  // it has a child
  parent.rank = policy_->AtLeast(parent.rank, node.rank);
}

void Branches::MarkDetached(NodeIndex index) {
  CHECK(nodes_[index].pins > 0 && !nodes_[index].held);
  Change(index, [&] { nodes_[index].detached = true; });
}

std::int64_t Branches::EvictablePages(const Node& node) const {
  if (node.pins > 0 || node.detached) return 0;
  return node.edge.page_count() - (node.held ? 1 : 0);
}

template <class F>
void Branches::Change(NodeIndex index, F change) {
  Node& node = nodes_[index];
  evictable_ -= EvictablePages(node);
  change();
  const std::int64_t pages = EvictablePages(node);
  evictable_ += pages;
  const bool indexed = pages > 0 && node.children.empty();
  if (indexed == node.indexed) return;
  node.indexed = indexed;
  if (indexed) {
    eviction_.Insert(index, node.rank);
  } else {
    eviction_.Erase(index, node.rank);
  }
}

}  // namespace banyan::radix
