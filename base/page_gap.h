// Pages that a page table names no longer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace banyan {

// The table of a view names its first `front` pages and, `dropped` pages further on, all others.
struct PageGap {
  std::int64_t front = 0;
  std::int64_t dropped = 0;

  // Where the table names page number `page` of the view, which is not one of those dropped.
  std::size_t place(std::int64_t page) const {
    return static_cast<std::size_t>(page < front ? page : page - dropped);
  }
  friend bool operator==(PageGap, PageGap) = default;
};

}  // namespace banyan
