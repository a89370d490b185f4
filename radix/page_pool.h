// The page pool: which state each page is in, and the pages that are free.
//
// It knows nothing of who holds a page; it holds the owners to the state table of page_state.h:
// a transition that the table does not have is a programmer's error. 13 bytes per page.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/ids.h"
#include "radix/page_state.h"

namespace banyan::radix {

class PagePool {
 public:
  explicit PagePool(std::int32_t pages);

  std::int32_t size() const { return static_cast<std::int32_t>(states_.size()); }
  std::int64_t count(PageState state) const { return counts_[static_cast<std::size_t>(state)]; }
  PageState state(PageId page) const { return states_[Index(page)]; }
  Tick entered(PageId page) const { return Tick(entered_[Index(page)]); }
  std::span<const PageId> free_pages() const { return free_; }

  // A free page, now copying or open. At least one must be free. Pages freed last come first.
  PageId Allocate(PageState state);
  void SetState(PageId page, PageState to);  // not to kFree
  void EnterTree(PageId page, Tick now);     // SetState(page, kTree), and remembers when
  void Free(PageId page);

 private:
  static std::size_t Index(PageId page) { return static_cast<std::size_t>(page); }
  void Move(PageId page, PageState to);

  std::vector<PageState> states_;
  std::vector<Tick::rep> entered_;  // when a page entered the tree; meaningless outside
  std::vector<PageId> free_;
  std::array<std::int64_t, kPageStates> counts_{};
};

}  // namespace banyan::radix
