// Which pages a query attends to where not all that it sees are read: nothing is given up, and each
// query chooses anew, in every layer and KV head. Tang, Zhao, Zhu, Xiao, Kasikci, Han: "Quest:
// Query-aware sparsity for efficient long-context LLM inference", ICML 2024,
// https://arxiv.org/abs/2406.10774
//
//   bounds   of a page: the least and the greatest of its keys, roped, in each dimension
//   score    of a page: the sum over dimensions of max(q * least, q * greatest), which no key's
//            product with q exceeds; where query heads share a KV head, the sum of theirs
//   choice   the newest pages, and of the others those with the greatest scores, the lower of
//   equals
//
//   pages 3, a query in slot 37, pages of 8
//
//     page    |  0  |  1  |  2  |  3  |  4 .|     scores of 0 .. 2; 3 and 4 are read in any case
//     a head           1           3     4 .
//     another    0                 3     4 .
//
// Bounds are of whole pages and follow from what these hold, so that a query's choice depends on
// the query and the keys before it alone: not on who else reads the pages, nor on the step.
#pragma once

#include <algorithm>
#include <cstdint>

namespace banyan::kernels {

struct PageChoice {
  static constexpr std::int32_t kMaxDenseLayers = 1024;
  // The query's own page, which may have no other key yet, and the whole one before it.
  static constexpr std::int64_t kNewest = 2;

  std::int64_t pages = 0;         // that a query attends to at most; 0: to all, there is no choice
  std::int32_t dense_layers = 0;  // the first ones, where all pages are read

  bool is_made() const { return pages > 0; }
  std::int64_t newest() const { return std::min(kNewest, pages); }
  friend bool operator==(const PageChoice&, const PageChoice&) = default;
};

}  // namespace banyan::kernels
