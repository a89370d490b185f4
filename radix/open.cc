// How a view begins: matching, leasing, copy-on-write, and pages of its own.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/common_length.h"
#include "radix/tree.h"

namespace banyan::radix {

namespace {

// Room in a new view's table for the first pages of its own, so that they do not move it.
constexpr std::size_t kFirstPages = 8;

std::span<const TokenId> AtMost(std::span<const TokenId> tokens, std::int64_t max_tokens) {
  CHECK(max_tokens >= 0);
  if (max_tokens >= static_cast<std::int64_t>(tokens.size())) return tokens;
  return tokens.first(static_cast<std::size_t>(max_tokens));
}

}  // namespace

// Open pages compete where the tree has less than a whole page more: where it has one, no lease
// ends before it.
Tree::Beginning Tree::FindBeginning(NamespaceId name_space, std::span<const TokenId> tokens) const {
  Beginning best{.match = branches_.Find(Root(name_space), tokens)};
  if (options_.sharing == Sharing::kPages) {
    Branches::Match& match = best.match;
    match.common -= match.common % options_.page_size;
    if (match.common == 0) match.next = kNoNode;
    return best;
  }
  if (best.match.common >= options_.page_size) return best;
  const auto first = views_.find(best.match.node);
  if (first == views_.end()) return best;
  tokens = tokens.subspan(static_cast<std::size_t>(best.match.length));
  for (const View* view = first->second; view != nullptr; view = view->next_) {
    if (view->copy_.from != kNoPage) continue;  // its slots are not there yet
    const std::int32_t common = CommonLength(view->unpublished_, tokens);
    if (common <= best.match.common) continue;
    best.match.next = kNoNode;
    best.match.common = common;
    best.producer = view;
  }
  return best;
}

PrefixCache::Preview Tree::PreviewOpen(NamespaceId name_space, std::span<const TokenId> tokens,
                                       std::int64_t max_tokens) const {
  const Branches::Match match = FindBeginning(name_space, AtMost(tokens, max_tokens)).match;
  const std::int64_t cached = match.length + match.common;
  return {.tokens = cached,
          .leased_pages = static_cast<std::int32_t>(cached / options_.page_size),
          .pinned_pages = static_cast<std::int32_t>(branches_.EvictablePages(match))};
}

View Tree::Open(NamespaceId name_space, std::span<const TokenId> tokens, std::int64_t max_tokens) {
  tokens = AtMost(tokens, max_tokens);
  View view;
  view.tree_ = this;
  view.name_space_ = name_space;
  ++uses_;
  ++opened_;
  auto [match, producer] = FindBeginning(name_space, tokens);
  const std::int32_t whole_pages = match.common / options_.page_size;
  const std::int32_t slots = match.common % options_.page_size;
  if (whole_pages > 0) {  // a lease ends where an edge ends
    match.node = SplitEdge(match.next, whole_pages);
    match.length += whole_pages * options_.page_size;
  }
  LeasePath(view, match.node);
  view.tokens_ = match.length + slots;
  if (slots == 0) return view;
  view.unpublished_.assign(tokens.begin() + match.length, tokens.begin() + view.tokens_);
  if (producer != nullptr) {
    CopyOpenPage(view, *producer, slots);
  } else {
    CopyTreePage(view, match.next, slots);
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
  namespaces_.SetEmpty(Root(view.name_space_), false);
  std::size_t pages = 0;
  for (NodeIndex at = node; at != kNoNode; at = branches_.nodes()[at].parent) {
    pages += branches_.nodes()[at].edge.pages().size();
  }
  view.lease_ = Lease(this, branches_.nodes().Ref(node), static_cast<std::int32_t>(pages));
  ListView(view);
  view.table_.reserve(pages + kFirstPages);
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
  branches_.Touch(node, TouchKind::kMatched, time(), now_);
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
void Tree::CopyTreePage(View& view, NodeIndex source, std::int32_t slots) {
  const PageId page = branches_.nodes()[source].edge.pages()[0];
  CopySource& copy = copies_[page];
  if (copy.copies++ == 0) {
    copy.keeper = CopySource::Keeper::kNode;
    copy.node = source;
    branches_.Hold(source);
  }
  view.copy_ = {.from = page, .to = kNoPage, .slots = slots};
  // Sharing the beginning of a page says nothing of the pages that follow it in the edge.
  if (branches_.nodes()[source].edge.page_count() == 1) Use(source, 1);
}

void Tree::CopyOpenPage(View& view, const View& producer, std::int32_t slots) {
  const PageId page = producer.table_[static_cast<std::size_t>(producer.lease_.pages_)];
  CopySource& copy = copies_[page];
  if (copy.copies++ == 0) copy.keeper = CopySource::Keeper::kView;
  view.copy_ = {.from = page, .to = kNoPage, .slots = slots};
}

void Tree::EndCopy(View& view) {
  const PageId page = std::exchange(view.copy_, PageCopy{}).from;
  const auto entry = copies_.find(page);
  CHECK(entry != copies_.end());
  if (--entry->second.copies > 0) return;
  const CopySource source = entry->second;
  copies_.erase(entry);
  if (source.keeper == CopySource::Keeper::kNode) {
    const NodeIndex parent = branches_.nodes()[source.node].parent;
    if (branches_.Unhold(source.node)) UnpinPath(parent);
  } else if (source.keeper == CopySource::Keeper::kNobody) {
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
