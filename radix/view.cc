// Views as values: moved, destroyed, and listed by where their leases end.
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
  gap_ = std::exchange(other.gap_, PageGap{});
  compacted_ = std::exchange(other.compacted_, 0);
  unpublished_ = std::exchange(other.unpublished_, {});
  copy_ = std::exchange(other.copy_, PageCopy{});
  is_private_ = std::exchange(other.is_private_, false);
  previous_ = std::exchange(other.previous_, nullptr);
  next_ = std::exchange(other.next_, nullptr);
  if (tree_ != nullptr) tree_->ReplaceView(*this);
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
  View*& first = views_[view.lease_.node_.index];
  view.next_ = first;
  if (first != nullptr) first->previous_ = &view;
  first = &view;
}

void Tree::UnlistView(View& view) {
  if (view.next_ != nullptr) view.next_->previous_ = view.previous_;
  if (view.previous_ != nullptr) {
    view.previous_->next_ = view.next_;
  } else if (view.next_ != nullptr) {
    views_.at(view.lease_.node_.index) = view.next_;
  } else {
    views_.erase(view.lease_.node_.index);
  }
  view.previous_ = view.next_ = nullptr;
}

void Tree::ReplaceView(View& to) {
  if (to.next_ != nullptr) to.next_->previous_ = &to;
  if (to.previous_ != nullptr) {
    to.previous_->next_ = &to;
  } else {
    views_.at(to.lease_.node_.index) = &to;
  }
}

void Tree::ForgetView(View& view) {
  view.tree_ = nullptr;
  view.table_ = {};
  view.tokens_ = 0;
  view.gap_ = {};
  view.compacted_ = 0;
  view.unpublished_ = {};
  view.is_private_ = false;
}

}  // namespace banyan::radix
