// Views as values: moved, destroyed, and listed for the invariant checker.
#include <utility>

#include "radix/tree.h"

namespace banyan::radix {

View::View(View&& other) noexcept { *this = std::move(other); }

View& View::operator=(View&& other) noexcept {
  if (this == &other) return *this;
  if (tree_ != nullptr) tree_->Close(*this, PrefixCache::Tail::kDiscard);
  tree_ = std::exchange(other.tree_, nullptr);
  name_space_ = other.name_space_;
  lease_ = std::move(other.lease_);
  table_ = std::exchange(other.table_, {});
  tokens_ = std::exchange(other.tokens_, 0);
  unpublished_ = std::exchange(other.unpublished_, {});
  copy_ = std::exchange(other.copy_, PageCopy{});
  is_private_ = std::exchange(other.is_private_, false);
  previous_ = std::exchange(other.previous_, nullptr);
  next_ = std::exchange(other.next_, nullptr);
  if (tree_ != nullptr) tree_->ReplaceView(other, *this);
  return *this;
}

View::~View() {
  if (tree_ != nullptr) tree_->Close(*this, PrefixCache::Tail::kDiscard);
}

bool Tree::Publishes(const View& view) const {
  const NodeIndex tip = branches_.nodes().Resolve(view.lease_.node_);
  return !view.is_private_ && !branches_.nodes()[tip].detached;
}

void Tree::ListView(View& view) {
  view.tree_ = this;
  view.next_ = views_;
  if (views_ != nullptr) views_->previous_ = &view;
  views_ = &view;
}

void Tree::ReplaceView(View& from, View& to) {
  if (views_ == &from) views_ = &to;
  if (to.previous_ != nullptr) to.previous_->next_ = &to;
  if (to.next_ != nullptr) to.next_->previous_ = &to;
}

void Tree::ForgetView(View& view) {
  if (views_ == &view) views_ = view.next_;
  if (view.previous_ != nullptr) view.previous_->next_ = view.next_;
  if (view.next_ != nullptr) view.next_->previous_ = view.previous_;
  view.previous_ = view.next_ = nullptr;
  view.tree_ = nullptr;
  view.table_ = {};
  view.tokens_ = 0;
  view.unpublished_ = {};
  view.is_private_ = false;
}

}  // namespace banyan::radix
