// How a view goes on with what survives of its tokens (kernels/kv_compaction.h), in pages of its
// own.
//
//   view        t0 t1 t2 x3          leases t0 .. t2
//   survivors   y0 y1                OpenPrivate, Grow: the step copies to them
//               y0 y1                Compact: 19 tokens, 6 slots; the other view is closed
//
//   survivors   y0 y1 y2             later: 25 tokens, 12 slots
//               y0 y1 y2             Compact: 25 tokens, 6 slots; y2 is room for what comes next
//
// Nobody ever copies from such a view: it never had a token that was published. Nor from one that
// holds what a private view held before it was closed, whose bytes were elsewhere meanwhile.
#include "base/check.h"
#include "radix/tree.h"

namespace banyan::radix {

View Tree::OpenPrivate(NamespaceId name_space) {
  View view;
  view.tree_ = this;
  view.name_space_ = name_space;
  view.is_private_ = true;
  LeasePath(view, Root(name_space));
  return view;
}

void Tree::Compact(View& view, std::int64_t tokens, std::int64_t slots) {
  CHECK(view.tree_ == this && view.is_private_ && view.lease_.pages_ == 0);
  CHECK(view.gap_.dropped == 0 && view.copy_.from == kNoPage);
  const bool is_empty = view.tokens_ == 0;
  CHECK(is_empty || (view.compacted_ > 0 && view.tokens_ == tokens && slots <= view.slots()));
  CHECK(1 <= slots && slots < tokens);
  const std::int64_t page_size = options_.page_size;
  CHECK(slots <= static_cast<std::int64_t>(view.table_.size()) * page_size);
  const std::int64_t was_full = view.slots() / page_size;
  const std::int64_t full = slots / page_size;
  view.tokens_ = tokens;
  view.compacted_ = tokens - slots;
  for (std::int64_t page = was_full; page < full; ++page)
    pool_.SetState(view.table_[static_cast<std::size_t>(page)], PageState::kPrivate);
  for (std::int64_t page = full; page < was_full; ++page)
    pool_.SetState(view.table_[static_cast<std::size_t>(page)], PageState::kOpen);
}

void Tree::Restore(View& view, std::int64_t tokens, std::int64_t slots, PageGap gap) {
  CHECK(view.tree_ == this && view.is_private_ && view.lease_.pages_ == 0);
  CHECK(view.tokens_ == 0 && view.copy_.from == kNoPage);
  CHECK(1 <= slots && slots <= tokens && (gap.dropped == 0 || slots == tokens));
  const std::int64_t page_size = options_.page_size;
  const auto pages = static_cast<std::int64_t>(view.table_.size());
  CHECK(slots <= (pages + gap.dropped) * page_size);
  view.tokens_ = tokens;
  view.compacted_ = tokens - slots;
  view.gap_ = gap;
  const std::int64_t full = slots / page_size - gap.dropped;
  for (std::int64_t page = 0; page < full; ++page)
    pool_.SetState(view.table_[static_cast<std::size_t>(page)], PageState::kPrivate);
}

}  // namespace banyan::radix
