// An edge: a run of pages and the tokens that they hold, in one block of memory.
//
// Tokens lie one after another so that matching a long edge is a memory comparison. An edge has a
// bounded length; a longer path is a chain of nodes. So splitting, which moves one part to a block
// of its own, costs at most one small copy, however long the path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/ids.h"
#include "radix/blocks.h"

namespace banyan::radix {

inline constexpr std::int32_t kMaxEdgeTokens = 2048;
inline std::int32_t MaxEdgePages(std::int32_t page_size) { return kMaxEdgeTokens / page_size; }

class Edge {
 public:
  Edge() = default;  // a root's: always empty
  // Its block, and what it grows and is cut into, are of `blocks`, which outlive it.
  Edge(Blocks& blocks, std::int32_t page_size)
      : blocks_(&blocks), page_size_(static_cast<std::uint16_t>(page_size)) {}
  Edge(Blocks& blocks, std::int32_t page_size, std::span<const PageId> pages,
       std::span<const TokenId> tokens);
  Edge(Edge&& other) noexcept;
  Edge& operator=(Edge&& other) noexcept;
  ~Edge();

  std::span<const PageId> pages() const { return {block_, std::size_t{page_count_}}; }
  std::span<const TokenId> tokens() const { return {tokens_begin(), std::size_t{token_count_}}; }
  std::span<const TokenId> first_page() const {
    return tokens().first(token_count_ < page_size_ ? token_count_ : page_size_);
  }
  void Prefetch() const { __builtin_prefetch(block_); }
  std::int32_t page_count() const { return page_count_; }
  std::int32_t token_count() const { return token_count_; }
  bool has_tail() const { return token_count_ < page_count_ * page_size_; }

  // All pages are full but possibly the last. The edge must end in a whole page.
  void Append(std::span<const PageId> pages, std::span<const TokenId> tokens);
  // Drops the last page and returns how many tokens went with it.
  std::int32_t PopPage();
  // The first `pages` pages as an edge of their own; this one keeps the rest, which is not empty.
  Edge TakeFront(std::int32_t pages);

 private:
  const std::int32_t* tokens_begin() const { return block_ + capacity_; }
  std::size_t BlockBytes(std::size_t pages) const {
    return pages * (1U + page_size_) * sizeof(std::int32_t);
  }
  void Reserve(std::int32_t pages);  // moves to a block for that many pages

  Blocks* blocks_ = nullptr;
  std::int32_t* block_ = nullptr;  // page ids [capacity], tokens [capacity * page size]
  std::uint16_t token_count_ = 0;
  std::uint16_t page_size_ = 0;
  std::uint16_t page_count_ = 0;
  std::uint16_t capacity_ = 0;  // in pages
};

}  // namespace banyan::radix
