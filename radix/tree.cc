#include "radix/tree.h"

#include <algorithm>

#include "base/check.h"
#include "base/limits.h"

namespace banyan::radix {

Tree::Tree(const Options& options, Observer* observer)
    : options_(options),
      observer_(observer),
      pool_(options.pages),
      branches_(options),
      namespaces_(options.max_empty_namespaces) {
  CHECK(options.page_size >= kMinPageSize && options.page_size <= kMaxPageSize);
  if (options.eviction == Eviction::kReuse) departed_.emplace(options.pages);
}

Tree::~Tree() { CHECK(views_.empty()); }

NamespaceId Tree::OpenNamespace(std::string_view name) {
  if (const auto known = namespaces_.Find(name)) return *known;
  const NamespaceId name_space = namespaces_.Add(name, branches_.AddRoot());
  while (const auto root = namespaces_.ForgetOldest()) branches_.Remove(*root);
  return name_space;
}

bool Tree::IsEmptyRoot(NodeIndex root) const {
  const Node& node = branches_.nodes()[root];
  return node.children.empty() && node.pins == 0 && !branches_.watches().Any(root);
}

// After anything that may have made the namespace of `root` empty, or not empty any more.
void Tree::SettleRoot(NodeIndex root) { namespaces_.SetEmpty(root, IsEmptyRoot(root)); }

std::int64_t Tree::MatchLength(NamespaceId name_space, std::span<const TokenId> tokens) const {
  const Branches::Match match = branches_.Find(Root(name_space), tokens);
  return options_.Shared(match.length + match.common);
}

std::int64_t Tree::available_pages() const {
  return pool_.count(PageState::kFree) + branches_.evictable();
}

Stats Tree::stats() const {
  Stats stats;
  for (int state = 0; state < kPageStates; ++state) {
    stats.pages[state] = pool_.count(static_cast<PageState>(state));
  }
  stats.evictable = branches_.evictable();
  stats.cached_tokens = cached_tokens_;
  stats.nodes = branches_.edges();
  stats.namespaces = static_cast<std::int64_t>(namespaces_.size());
  stats.evicted_pages = evicted_pages_;
  stats.deduplicated_pages = deduplicated_pages_;
  stats.copied_pages = copied_pages_;
  return stats;
}

PageId Tree::TakePage(PageState state) {
  if (pool_.count(PageState::kFree) == 0) {
    const NodeIndex leaf = branches_.eviction().Victim();
    const NodeIndex parent = branches_.nodes()[leaf].parent;
    const Tick idle = now_ - branches_.nodes()[leaf].last_match;
    const std::uint32_t reuses = branches_.Reuses(leaf);
    const Branches::Popped popped = branches_.PopPage(leaf);
    if (departed_) departed_->Leave(popped.page, reuses);
    if (branches_.nodes()[parent].is_root()) SettleRoot(parent);
    cached_tokens_ -= popped.tokens;
    ++evicted_pages_;
    if (observer_ != nullptr) observer_->OnEvicted(now_ - pool_.entered(popped.page), idle);
    pool_.Free(popped.page);
  }
  return pool_.Allocate(state);
}

// Its node or view gives it up. A copy in flight outlives that: the page is then detached.
void Tree::RetirePage(PageId page) {
  const auto copy = copies_.find(page);
  if (copy == copies_.end()) {
    pool_.Free(page);
    return;
  }
  copy->second.keeper = CopySource::Keeper::kNobody;
  if (pool_.state(page) != PageState::kDetached) pool_.SetState(page, PageState::kDetached);
}

void Tree::RemoveTail(NodeIndex leaf) {
  const Node& node = branches_.nodes()[leaf];
  DCHECK(node.edge.page_count() == 1 && node.edge.has_tail() && node.pins == 0);
  cached_tokens_ -= node.edge.token_count();
  RetirePage(node.edge.pages()[0]);
  if (node.held && branches_.Unhold(leaf)) UnpinPath(node.parent);
  branches_.Remove(leaf);
}

void Tree::UnpinPath(NodeIndex index) {
  while (index != kNoNode && branches_.Unpin(index)) {
    const Node& node = branches_.nodes()[index];
    const NodeIndex parent = node.parent;
    if (node.detached) {
      for (const PageId page : node.edge.pages()) RetirePage(page);
      branches_.Remove(index);
    } else if (node.is_root()) {
      SettleRoot(index);
    }
    index = parent;
  }
}

void Tree::Release(Lease& lease) {
  const NodeIndex node = branches_.nodes().Resolve(lease.node_);
  lease.tree_ = nullptr;
  lease.node_ = NodeRef{};
  lease.pages_ = 0;
  UnpinPath(node);
}

void Tree::Flush(NamespaceId name_space) {
  const NodeIndex root = Root(name_space);
  std::vector<NodeIndex> below = {root};  // parents before children
  for (std::size_t i = 0; i < below.size(); ++i) {
    branches_.nodes()[below[i]].children.ForEach([&](NodeIndex child) { below.push_back(child); });
  }
  const std::vector<Watch*> watches = branches_.watches().Uproot(below);
  for (std::size_t i = below.size(); i-- > 1;) Detach(below[i]);
  if (branches_.nodes()[root].pins > 0) {
    branches_.MarkDetached(root);
    namespaces_.ReplaceRoot(name_space, branches_.AddRoot());
  }
  branches_.watches().Plant(watches, Root(name_space));
  SettleRoot(Root(name_space));
}

// Its children are gone or detached already.
void Tree::Detach(NodeIndex index) {
  const Node& node = branches_.nodes()[index];
  cached_tokens_ -= node.edge.token_count();
  if (node.held) {
    copies_.at(node.edge.pages()[0]).keeper = CopySource::Keeper::kLeases;
    if (branches_.Unhold(index)) UnpinPath(node.parent);
  }
  if (node.pins > 0) {
    for (const PageId page : node.edge.pages()) pool_.SetState(page, PageState::kDetached);
    branches_.MarkDetached(index);
  } else {
    for (const PageId page : node.edge.pages()) RetirePage(page);
    branches_.Remove(index);
  }
}

void Lease::Release() {
  if (tree_ != nullptr) tree_->Release(*this);
}

}  // namespace banyan::radix
