// How a view gives up pages in its middle, which a lossy policy reads no more.
//
//   front = 1, the lease covers 3 pages, then pages of the view's own:
//
//     Drop(1, 2)    t0 t1 t2 x3 x4      a lease has no holes: nothing happens yet
//     Drop(1, 4)    t0 x4               the lease ends behind t0 (the edge is split there when it
//                                       goes on), x3 is free
#include <algorithm>

#include "base/check.h"
#include "radix/tree.h"

namespace banyan::radix {

void Tree::Drop(View& view, std::int64_t front, std::int64_t until) {
  CHECK(view.tree_ == this && view.is_private_ && view.compacted_ == 0);
  CHECK(0 <= front && front <= until && until <= view.tokens_ / options_.page_size);
  PageGap& gap = view.gap_;
  CHECK(gap.dropped == 0 || gap.front == front);
  const std::int32_t leased = view.lease_.pages_;
  if (until <= front + gap.dropped || (leased > front && leased > until)) return;
  const auto first = view.table_.begin() + front;
  const auto last = view.table_.begin() + (until - gap.dropped);
  for (auto own = std::max(first, view.table_.begin() + leased); own < last; ++own) {
    RetirePage(*own);
  }
  if (leased > front) ShortenLease(view, static_cast<std::int32_t>(front));
  view.table_.erase(first, last);
  gap = {.front = front, .dropped = until - front};
}

// To its first `pages` pages, which are fewer than it has.
void Tree::ShortenLease(View& view, std::int32_t pages) {
  const NodeIndex from = branches_.nodes().Resolve(view.lease_.node_);
  NodeIndex to = from;
  for (std::int32_t end = view.lease_.pages_; end > pages;) {
    const std::int32_t begin = end - branches_.nodes()[to].edge.page_count();
    if (begin < pages) {
      to = SplitEdge(to, pages - begin);
      end = pages;
    } else {
      to = branches_.nodes()[to].parent;
      end = begin;
    }
  }
  branches_.Pin(to);
  UnlistView(view);
  view.lease_.node_ = branches_.nodes().Ref(to);
  view.lease_.pages_ = pages;
  ListView(view);
  UnpinPath(from);
}

}  // namespace banyan::radix
