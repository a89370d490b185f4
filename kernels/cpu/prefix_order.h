// The runs of a step in an order that puts those with a common prefix of pages beside each other.
//
// Page tables are sorted as words are; how much neighbours share says everything about the tree of
// prefixes that the runs hang below: runs i .. j of the order have in common the least of what
// their neighbours share. A page at one index of two tables holds the same keys for both.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/tensor.h"

namespace banyan::kernels {

class PrefixOrder {
 public:
  struct Place {
    std::int32_t run = 0;
    std::int64_t shared_keys = 0;  // in pages shared with the place before; 0 for the first
  };

  // One place for each run. What was found for the page tables asked about last is kept, and found
  // anew unless every table is the same page for page: the layers of a step pay for it once.
  std::span<const Place> Of(std::span<const RowRun> runs, std::int32_t page_size);

 private:
  // The pages of a run that its rows see, from 0 to its last row's.
  struct Table {
    std::int64_t first = 0;  // in pages_
    std::int64_t count = 0;
  };
  bool Keeps(std::span<const RowRun> runs, std::int32_t page_size) const;
  std::int64_t SharedPages(const Table& a, const Table& b) const;

  std::int32_t page_size_ = 0;
  std::vector<std::int32_t> pages_;  // of all tables, one after the other
  std::vector<Table> tables_;        // by run
  std::vector<Place> places_;
};

}  // namespace banyan::kernels
