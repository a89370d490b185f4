#include "radix/edge.h"

#include <algorithm>

#include "base/check.h"

namespace banyan::radix {

Edge::Edge(std::int32_t page_size, std::span<const PageId> pages, std::span<const TokenId> tokens)
    : Edge(page_size) {
  Append(pages, tokens);
}

void Edge::Append(std::span<const PageId> pages, std::span<const TokenId> tokens) {
  DCHECK(!has_tail());
  DCHECK(!pages.empty() && tokens.size() <= pages.size() * page_size_ &&
         tokens.size() > (pages.size() - 1) * page_size_);
  const std::int32_t needed = page_count_ + static_cast<std::int32_t>(pages.size());
  CHECK(needed <= MaxEdgePages(page_size_));
  if (needed > capacity_) {
    // A first block fits exactly: most edges are made at once and never grow.
    Reserve(capacity_ == 0 ? needed
                           : std::min(std::max(needed, 2 * capacity_), MaxEdgePages(page_size_)));
  }
  std::copy(pages.begin(), pages.end(), block_.get() + page_count_);
  std::copy(tokens.begin(), tokens.end(), block_.get() + capacity_ + token_count_);
  page_count_ = static_cast<std::uint16_t>(needed);
  token_count_ = static_cast<std::uint16_t>(token_count_ + tokens.size());
}

std::int32_t Edge::PopPage() {
  CHECK(page_count_ > 0);
  --page_count_;
  const std::int32_t left = page_count_ * page_size_;
  const std::int32_t dropped = token_count_ - left;
  token_count_ = static_cast<std::uint16_t>(left);
  // An edge that shrank gives memory back, but not at every page.
  if (page_count_ > 0 && page_count_ <= capacity_ / 4) Reserve(2 * page_count_);
  return dropped;
}

Edge Edge::TakeFront(std::int32_t pages) {
  const auto tokens = static_cast<std::size_t>(pages) * page_size_;
  CHECK(pages > 0 && tokens < token_count_);
  Edge front(page_size_, this->pages().first(static_cast<std::size_t>(pages)),
             this->tokens().first(tokens));
  Edge back(page_size_, this->pages().subspan(static_cast<std::size_t>(pages)),
            this->tokens().subspan(tokens));
  *this = std::move(back);
  return front;
}

void Edge::Reserve(std::int32_t pages) {
  const auto capacity = static_cast<std::size_t>(pages);
  auto block = std::make_unique_for_overwrite<std::int32_t[]>(capacity * (1U + page_size_));
  std::copy_n(block_.get(), page_count_, block.get());
  std::copy_n(block_.get() + capacity_, token_count_, block.get() + capacity);
  block_ = std::move(block);
  capacity_ = static_cast<std::uint16_t>(pages);
}

}  // namespace banyan::radix
