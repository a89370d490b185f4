#include "radix/page_pool.h"

#include "base/limits.h"

namespace banyan::radix {
namespace {

constexpr std::uint8_t Bit(PageState state) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(state));
}

// The successors of each state, in the order of PageState.
constexpr std::array<std::uint8_t, kPageStates> kSuccessors = {
    Bit(PageState::kCopying) | Bit(PageState::kOpen),  // kFree
    Bit(PageState::kOpen) | Bit(PageState::kFree),     // kCopying
    Bit(PageState::kTree) | Bit(PageState::kPrivate) | Bit(PageState::kDetached) |
        Bit(PageState::kFree),                                                  // kOpen
    Bit(PageState::kOpen) | Bit(PageState::kDetached) | Bit(PageState::kFree),  // kPrivate
    Bit(PageState::kDetached) | Bit(PageState::kFree),                          // kTree
    Bit(PageState::kFree),                                                      // kDetached
};

}  // namespace

PagePool::PagePool(std::int32_t pages) {
  CHECK(pages >= 1 && pages <= kMaxPages);
  const auto size = static_cast<std::size_t>(pages);
  states_.assign(size, PageState::kFree);
  entered_.assign(size, 0);
  free_.reserve(size);
  // Handed out from the back: 0, 1, 2, ... so that a long run has consecutive pages.
  for (PageId page = pages; page-- > 0;) free_.push_back(page);
  counts_[static_cast<std::size_t>(PageState::kFree)] = pages;
}

PageId PagePool::Allocate(PageState state) {
  CHECK(!free_.empty());
  const PageId page = free_.back();
  free_.pop_back();
  Move(page, state);
  return page;
}

void PagePool::SetState(PageId page, PageState to) {
  DCHECK(to != PageState::kFree);
  Move(page, to);
}

void PagePool::EnterTree(PageId page, Tick now) {
  Move(page, PageState::kTree);
  entered_[Index(page)] = now.count();
}

void PagePool::Free(PageId page) {
  Move(page, PageState::kFree);
  free_.push_back(page);
}

void PagePool::Move(PageId page, PageState to) {
  CHECK(page >= 0 && page < size());
  PageState& state = states_[Index(page)];
  CHECK((kSuccessors[static_cast<std::size_t>(state)] & Bit(to)) != 0);
  --counts_[static_cast<std::size_t>(state)];
  ++counts_[static_cast<std::size_t>(to)];
  state = to;
}

}  // namespace banyan::radix
