// How a view begins: matching, leasing, copy-on-write, and pages of its own.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "radix/tree.h"

namespace banyan::radix {

namespace {

std::span<const TokenId> AtMost(std::span<const TokenId> tokens, std::int64_t max_tokens) {
  CHECK(max_tokens >= 0);
  if (max_tokens >= static_cast<std::int64_t>(tokens.size())) return tokens;
  return tokens.first(static_cast<std::size_t>(max_tokens));
}

}  // namespace

PrefixCache::Preview Tree::PreviewOpen(NamespaceId name_space, std::span<const TokenId> tokens,
                                       std::int64_t max_tokens) const {
  const Branches::Match match = branches_.Find(Root(name_space), AtMost(tokens, max_tokens));
  const std::int64_t cached = match.length + match.common;
  return {.tokens = cached,
          .leased_pages = static_cast<std::int32_t>(cached / options_.page_size),
          .pinned_pages = static_cast<std::int32_t>(branches_.EvictablePages(match))};
}

View Tree::Open(NamespaceId name_space, std::span<const TokenId> tokens, std::int64_t max_tokens) {
  tokens = AtMost(tokens, max_tokens);
  View view;
  ListView(view);
  view.name_space_ = name_space;
  ++uses_;
  Branches::Match match = branches_.Find(Root(name_space), tokens);
  const std::int32_t whole_pages = match.common / options_.page_size;
  const std::int32_t slots = match.common % options_.page_size;
  if (whole_pages > 0) {  // a lease ends where an edge ends
    match.node = SplitEdge(match.next, whole_pages);
    match.length += whole_pages * options_.page_size;
  }
  LeasePath(view, match.node);
  view.tokens_ = match.length + slots;
  if (slots > 0) {
    BeginCopy(view, match.next, slots);
    view.unpublished_.assign(tokens.begin() + match.length, tokens.begin() + view.tokens_);
  }
  return view;
}

NodeIndex Tree::SplitEdge(NodeIndex node, std::int32_t pages) {
  const NodeIndex upper_index = branches_.Split(node, pages);
  const Node& upper = branches_.nodes()[upper_index];
  if (upper.held) copies_.at(upper.edge.pages()[0]).node = upper_index;
  return upper_index;
}

// Pins the path that ends in `node`, marks it as used, and fills the view's table with its pages.
void Tree::LeasePath(View& view, NodeIndex node) {
  branches_.Pin(node);
  std::size_t pages = 0;
  for (NodeIndex at = node; at != kNoNode; at = branches_.nodes()[at].parent) {
    pages += branches_.nodes()[at].edge.pages().size();
  }
  view.lease_ = Lease(this, branches_.nodes().Ref(node), static_cast<std::int32_t>(pages));
  view.table_.resize(pages);
  auto end = view.table_.end();
  for (NodeIndex at = node; at != kNoNode; at = branches_.nodes()[at].parent) {
    const auto run = branches_.nodes()[at].edge.pages();
    end = std::copy_backward(run.begin(), run.end(), end);
    Use(at, static_cast<std::int32_t>(run.size()));
  }
}

void Tree::Use(NodeIndex node, std::int32_t pages) {
  if (observer_ != nullptr && pages > 0) {
    observer_->OnReused(pages, now_ - branches_.nodes()[node].last_match);
  }
  branches_.Touch(node, uses_, now_);
}

bool Tree::Grow(View& view, std::int32_t pages) {
  CHECK(view.tree_ == this && pages >= 0);
  if (pages > available_pages()) return false;
  for (std::int32_t i = 0; i < pages; ++i) {
    const bool is_target = view.copy_.from != kNoPage && view.copy_.to == kNoPage;
    const PageId page = TakePage(is_target ? PageState::kCopying : PageState::kOpen);
    if (is_target) {
      view.copy_.to = page;
      ++copied_pages_;
    }
    view.table_.push_back(page);
  }
  return true;
}

// The source is the first page of its node: Open has split the edge before it.
void Tree::BeginCopy(View& view, NodeIndex source, std::int32_t slots) {
  const PageId page = branches_.nodes()[source].edge.pages()[0];
  CopySource& copy = copies_[page];
  if (copy.copies++ == 0) {
    copy.node = source;
    branches_.Hold(source);
  }
  view.copy_ = {.from = page, .to = kNoPage, .slots = slots};
  // Sharing the beginning of a page says nothing of the pages that follow it in the edge.
  if (branches_.nodes()[source].edge.page_count() == 1) Use(source, 1);
}

void Tree::EndCopy(View& view) {
  const PageId page = std::exchange(view.copy_, PageCopy{}).from;
  const auto entry = copies_.find(page);
  CHECK(entry != copies_.end());
  if (--entry->second.copies > 0) return;
  const CopySource source = entry->second;
  copies_.erase(entry);
  if (source.node != kNoNode) {
    const NodeIndex parent = branches_.nodes()[source.node].parent;
    if (branches_.Unhold(source.node)) UnpinPath(parent);
  } else if (!source.leased) {
    pool_.Free(page);
  }
}

std::optional<PageCopy> Tree::PendingCopy(const View& view) const {
  CHECK(view.tree_ == this);
  if (view.copy_.to == kNoPage) return std::nullopt;
  return view.copy_;
}

void Tree::CopyDone(View& view) {
  CHECK(view.tree_ == this && view.copy_.to != kNoPage);
  pool_.SetState(view.copy_.to, PageState::kOpen);
  EndCopy(view);
}

}  // namespace banyan::radix
