// The runs of a step in an order that puts those with a common prefix of pages beside each other.
//
// Page tables are sorted as words are; how much neighbours share says everything about the tree of
// prefixes that the runs hang below: runs i .. j of the order have in common the least of what
// their neighbours share. A page at one index of two tables holds the same keys for both. Of a
// table with a gap what lies behind it is not compared, and nothing of one that is several, a KV
// head's each: that is shared with nobody, but read as well.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tensor.h"

namespace banyan::kernels {

// Whether a query reads its own page, that of its position, in chunks as it reads all others, or
// apart from them.
enum class OwnPage : std::uint8_t { kInChunks, kApart };

// One past the last key that the query at `position` reads in chunks.
constexpr std::int64_t ChunkedKeys(OwnPage own, std::int32_t page_size, std::int64_t position) {
  return own == OwnPage::kApart ? position - position % page_size : position + 1;
}

class PrefixOrder {
 public:
  struct Place {
    std::int32_t run = 0;
    std::int64_t shared_keys = 0;  // in pages shared with the place before; 0 for the first
  };

  // One place for each run. What was found for the page tables asked about last is kept, and found
  // anew unless every table is the same page for page: the layers of a step pay for it once.
  std::span<const Place> Of(std::span<const RowRun> runs, std::int32_t page_size, OwnPage own);

 private:
  // The pages of a run from 0 to its last row's, which is among them where it is read in chunks, or
  // to where its gap begins.
  struct Table {
    std::int64_t first = 0;  // in pages_
    std::int64_t count = 0;
  };
  bool Keeps(std::span<const RowRun> runs, std::int32_t page_size, OwnPage own) const;
  std::int64_t SharedPages(const Table& a, const Table& b) const;

  std::int32_t page_size_ = 0;
  std::vector<std::int32_t> pages_;  // of all tables, one after the other
  std::vector<Table> tables_;        // by run
  std::vector<Place> places_;
};

}  // namespace banyan::kernels
