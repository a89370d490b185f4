// How a view's pages become the tree's, and how a view ends.
//
//   the view's lease ends at T, its next whole pages are x y z:
//
//     T has a child that begins with x     the tree's pages replace the view's in its table, the
//                                          lease moves down over them, the view's own are retired
//     T has a child that is a tail and     the tail is freed (or detached while a copy reads it),
//       a prefix of x                      then as below
//     T is a leaf, only this view leases   x y z are appended to T's edge
//       it, and no copy reads x
//     else                                 x y z become a new child of T, and the lease moves to it
#include <algorithm>

#include "base/check.h"
#include "radix/tree.h"

namespace banyan::radix {

void Tree::Append(View& view, std::span<const TokenId> tokens, PrefixCache::Exactness exactness) {
  CHECK(view.tree_ == this && view.copy_.from == kNoPage);
  const auto more = static_cast<std::int64_t>(tokens.size());
  const std::int64_t valid = view.slots() + more;
  const auto pages = static_cast<std::int64_t>(view.table_.size()) + view.gap_.dropped;
  CHECK(valid <= pages * options_.page_size);
  const NodeIndex tip = branches_.nodes().Resolve(view.lease_.node_);
  if (exactness == PrefixCache::Exactness::kInexact || branches_.nodes()[tip].detached) {
    view.is_private_ = true;
    view.unpublished_ = {};
  }
  const std::int64_t was_full = view.slots() / options_.page_size;
  view.tokens_ += more;
  if (view.is_private_) {
    for (std::int64_t page = was_full; page < valid / options_.page_size; ++page) {
      pool_.SetState(view.table_[view.gap_.place(page)], PageState::kPrivate);
    }
    return;
  }
  view.unpublished_.insert(view.unpublished_.end(), tokens.begin(), tokens.end());
  if (view.unpublished_.size() >= PageTokens(1)) Publish(view);
}

void Tree::Publish(View& view) {
  ++uses_;
  std::span<const TokenId> run = view.unpublished_;
  run = run.first(run.size() - run.size() % PageTokens(1));
  while (!run.empty()) {
    const Branches::Step step = branches_.BestChild(view.lease_.node_.index, run);
    const std::int32_t shared = step.common / options_.page_size;
    if (shared > 0) {
      ShareTreePages(view, step.child, shared);
      run = run.subspan(PageTokens(shared));
      continue;
    }
    if (step.whole) RemoveTail(step.child);
    run = run.subspan(PageTokens(GiveTreePages(view, run)));
  }
  const std::size_t tail = view.unpublished_.size() % PageTokens(1);
  view.unpublished_.erase(view.unpublished_.begin(),
                          view.unpublished_.end() - static_cast<std::ptrdiff_t>(tail));
}

// The tree has the view's next `pages` pages at the beginning of `child`.
void Tree::ShareTreePages(View& view, NodeIndex child, std::int32_t pages) {
  if (PageTokens(pages) < branches_.nodes()[child].edge.tokens().size()) {
    child = SplitEdge(child, pages);
  }
  auto entry = view.table_.begin() + view.lease_.pages_;
  for (const PageId page : branches_.nodes()[child].edge.pages()) {
    RetirePage(*entry);
    *entry++ = page;
  }
  deduplicated_pages_ += pages;
  MoveLease(view, child, pages, TouchKind::kFound);
}

// The tree does not have the first page of `run`. Gives it as many whole pages as one edge takes,
// and returns their number.
std::int32_t Tree::GiveTreePages(View& view, std::span<const TokenId> run) {
  const NodeIndex tip = view.lease_.node_.index;
  const Departed::Alike alike = Recall(view, run);
  const bool in_place = alike.reuses == 0 && ExtendsInPlace(view);
  const std::int32_t room =
      MaxEdgePages(options_.page_size) - (in_place ? branches_.nodes()[tip].edge.page_count() : 0);
  const std::int32_t pages = std::min(room, alike.pages);
  run = run.first(PageTokens(pages));
  const auto given =
      std::span<const PageId>(view.table_)
          .subspan(static_cast<std::size_t>(view.lease_.pages_), static_cast<std::size_t>(pages));
  for (const PageId page : given) pool_.EnterTree(page, now_);
  cached_tokens_ += static_cast<std::int64_t>(run.size());
  if (in_place) {
    branches_.AppendToEdge(tip, given, run);
    MoveLease(view, tip, pages, TouchKind::kExtended);
  } else {
    const NodeIndex child =
        branches_.AddChild(tip, Edge(branches_.nodes().blocks(), options_.page_size, given, run),
                           time(), now_, alike.reuses);
    HoldIfCopied(child);
    MoveLease(view, child, pages, TouchKind::kFound);
  }
  return pages;
}

// Whole pages at the beginning of `run`, which enter behind the view's lease, that came back alike.
Departed::Alike Tree::Recall(const View& view, std::span<const TokenId> run) {
  const auto pages = static_cast<std::int32_t>(run.size() / PageTokens(1));
  if (!departed_) return {.pages = pages};
  const auto leased = static_cast<std::size_t>(view.lease_.pages_);
  const std::span<const PageId> table(view.table_);
  return departed_->Enter(view.name_space_, leased == 0 ? kNoPage : table[leased - 1],
                          table.subspan(leased, static_cast<std::size_t>(pages)),
                          run.first(PageTokens(pages)));
}

// Whether the edge that the view's lease ends with may grow by the view's pages: nobody else's
// lease ends there, it has no children and is not full, and new pages are as good as its own. So a
// page that a copy reads begins a node: the lease of the view that copies it ends there, too.
bool Tree::ExtendsInPlace(const View& view) const {
  const Node& tip = branches_.nodes()[view.lease_.node_.index];
  return !tip.is_root() && tip.children.empty() && tip.pins == 1 &&
         tip.edge.page_count() < MaxEdgePages(options_.page_size) &&
         branches_.MayGrow(view.lease_.node_.index);
}

// Copies may read the first page of a node that was just made of a view's pages.
void Tree::HoldIfCopied(NodeIndex node) {
  const auto copy = copies_.find(branches_.nodes()[node].edge.pages()[0]);
  if (copy == copies_.end()) return;
  copy->second.keeper = CopySource::Keeper::kNode;
  copy->second.node = node;
  branches_.Hold(node);
}

// The lease now ends at `to`, the same node or a child of it, `pages` pages further on.
void Tree::MoveLease(View& view, NodeIndex to, std::int32_t pages, TouchKind touch) {
  view.lease_.pages_ += pages;
  if (const NodeIndex from = view.lease_.node_.index; from != to) {
    branches_.Pin(to);
    UnlistView(view);
    view.lease_.node_ = branches_.nodes().Ref(to);
    ListView(view);
    UnpinPath(from);
  }
  branches_.Touch(to, touch, time(), now_);
}

void Tree::Close(View& view, PrefixCache::Tail tail) {
  CHECK(view.tree_ == this);
  const bool was_copied = view.copy_.from == kNoPage;
  if (!was_copied) EndCopy(view);
  const NodeIndex tip = branches_.nodes().Resolve(view.lease_.node_);
  std::size_t own = static_cast<std::size_t>(view.lease_.pages_);
  if (tail == PrefixCache::Tail::kAdopt && options_.sharing == Sharing::kSlots && was_copied &&
      !view.unpublished_.empty() && !branches_.nodes()[tip].detached && AdoptTail(view)) {
    ++own;
  }
  for (; own < view.table_.size(); ++own) RetirePage(view.table_[own]);
  UnlistView(view);
  view.lease_.Release();
  ForgetView(view);
}

// Whether the tree took the view's last, partly filled page.
bool Tree::AdoptTail(View& view) {
  const NodeIndex tip = view.lease_.node_.index;
  const std::span<const TokenId> tokens = view.unpublished_;
  ++uses_;
  const Branches::Step step = branches_.BestChild(tip, tokens);
  if (step.child != kNoNode) {
    if (step.common == static_cast<std::int32_t>(tokens.size())) {  // the tree has them
      // That says nothing of the pages that follow in the edge.
      if (branches_.nodes()[step.child].edge.page_count() == 1) {
        branches_.Touch(step.child, TouchKind::kFound, time(), now_);
        branches_.RaiseParent(step.child);
      }
      return false;
    }
    if (step.whole) RemoveTail(step.child);
  }
  const std::span<const PageId> page(&view.table_[static_cast<std::size_t>(view.lease_.pages_)], 1);
  pool_.EnterTree(page[0], now_);
  if (departed_) departed_->EnterTail(page[0]);
  cached_tokens_ += static_cast<std::int64_t>(tokens.size());
  if (ExtendsInPlace(view)) {
    branches_.AppendToEdge(tip, page, tokens);
    branches_.Touch(tip, TouchKind::kExtended, time(), now_);
  } else {
    const NodeIndex leaf = branches_.AddChild(
        tip, Edge(branches_.nodes().blocks(), options_.page_size, page, tokens), time(), now_);
    HoldIfCopied(leaf);
    branches_.RaiseParent(leaf);
  }
  return true;
}

}  // namespace banyan::radix
