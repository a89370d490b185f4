// A view is what one request attends to: the pages that it leases and those of its own, as a page
// table. Included by way of radix/prefix_cache.h, whose operations work on it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "base/page_gap.h"
#include "radix/lease.h"

namespace banyan::radix {

class Audit;  // the invariant checker
class Tree;

// Move-only; closing it (or destroying it) gives up its pages.
//
// The table names, in order of position: leased tree pages, then pages of its own, without those
// that were dropped. `tokens()` slots from the front are valid; the rest of the table is room for
// what comes next. Of a view that was compacted (PrefixCache::Compact) it is `slots()` slots: what
// survives of the tokens.
class View {
 public:
  View() = default;
  View(View&&) noexcept;
  View& operator=(View&&) noexcept;
  ~View();  // as PrefixCache::Close(Tail::kDiscard)

  bool is_open() const { return tree_ != nullptr; }
  std::span<const PageId> page_table() const { return table_; }
  std::int64_t tokens() const { return tokens_; }  // those of pages that were dropped, too
  PageGap gap() const { return gap_; }
  // Those that the table holds: fewer than its tokens where it was compacted, and then a slot says
  // nothing of a position.
  std::int64_t slots() const { return tokens_ - compacted_; }
  std::int32_t leased_pages() const { return lease_.pages(); }

 private:
  friend class Audit;
  friend class Tree;
  friend class TreePeer;  // the checker's tests

  Tree* tree_ = nullptr;
  NamespaceId name_space_{};
  Lease lease_;  // over the first lease_.pages() pages of table_
  std::vector<PageId> table_;
  std::int64_t tokens_ = 0;
  PageGap gap_;
  std::int64_t compacted_ = 0;        // tokens without a slot; then there is no gap
  std::vector<TokenId> unpublished_;  // of the valid slots behind the lease; empty when private
  PageCopy copy_;                     // in flight, when from != kNoPage
  bool is_private_ = false;           // nothing more of it is published
  View* previous_ = nullptr;          // in the tree's list of views whose leases end at one node
  View* next_ = nullptr;
};

}  // namespace banyan::radix
