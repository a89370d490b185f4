// Sequences that attention is tested with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {

// One sequence's random queries, keys and values, by position.
struct Tokens {
  // `shape` has heads, kv_heads and a head_dim.
  template <class Shape>
  Tokens(const Shape& shape, int count, std::uint32_t seed)
      : q(RandomRows(count, shape.heads * shape.head_dim, seed)),
        k(RandomRows(count, shape.kv_heads * shape.head_dim, seed + 1)),
        v(RandomRows(count, shape.kv_heads * shape.head_dim, seed + 2)) {}

  Rows q;
  Rows k;
  Rows v;
};

// Puts of(head) in the place of the numbers of each head of each row.
template <class Of>
void ChangeHeads(Rows& rows, int head_dim, Of of) {
  for (Row& row : rows)
    for (int at = 0; at < std::ssize(row); at += head_dim)
      std::ranges::copy(of(std::span<const float>(row).subspan(at, head_dim)), row.begin() + at);
}

inline Rows Slice(const Rows& rows, int first, int count) {
  return {rows.begin() + first, rows.begin() + first + count};
}

// Pages 0 .. count - 1 in some order.
inline std::vector<std::int32_t> ShuffledPages(int count, std::uint32_t seed) {
  std::vector<std::int32_t> pages(static_cast<std::size_t>(count));
  std::iota(pages.begin(), pages.end(), 0);
  std::shuffle(pages.begin(), pages.end(), std::mt19937(seed));
  return pages;
}

}  // namespace banyan::kernels::testing
