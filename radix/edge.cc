#include "radix/edge.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace banyan::radix {

Edge::Edge(Blocks& blocks, std::int32_t page_size, std::span<const PageId> pages,
           std::span<const TokenId> tokens)
    : Edge(blocks, page_size) {
  Append(pages, tokens);
}

Edge::Edge(Edge&& other) noexcept { *this = std::move(other); }

Edge& Edge::operator=(Edge&& other) noexcept {
  if (this == &other) return *this;
  if (block_ != nullptr) blocks_->Free(block_, BlockBytes(capacity_));
  blocks_ = other.blocks_;
  block_ = std::exchange(other.block_, nullptr);
  page_size_ = other.page_size_;
  token_count_ = std::exchange(other.token_count_, 0);
  page_count_ = std::exchange(other.page_count_, 0);
  capacity_ = std::exchange(other.capacity_, 0);
  return *this;
}

Edge::~Edge() {
  if (block_ != nullptr) blocks_->Free(block_, BlockBytes(capacity_));
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
  std::copy(pages.begin(), pages.end(), block_ + page_count_);
  std::copy(tokens.begin(), tokens.end(), block_ + capacity_ + token_count_);
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
  Edge front(*blocks_, page_size_, this->pages().first(static_cast<std::size_t>(pages)),
             this->tokens().first(tokens));
  Edge back(*blocks_, page_size_, this->pages().subspan(static_cast<std::size_t>(pages)),
            this->tokens().subspan(tokens));
  *this = std::move(back);
  return front;
}

void Edge::Reserve(std::int32_t pages) {
  const auto capacity = static_cast<std::size_t>(pages);
  auto* const block = static_cast<std::int32_t*>(blocks_->Allocate(BlockBytes(capacity)));
  std::copy_n(block_, page_count_, block);
  std::copy_n(block_ + capacity_, token_count_, block + capacity);
  if (block_ != nullptr) blocks_->Free(block_, BlockBytes(capacity_));
  block_ = block;
  capacity_ = static_cast<std::uint16_t>(pages);
}

}  // namespace banyan::radix
