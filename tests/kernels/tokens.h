// Sequences that attention is tested with.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <span>
#include <vector>

#include "kernels/tensor.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {

// One sequence's random queries, keys and values, by position.
struct Tokens {
  // `shape` has heads, kv_heads and a head_dim; rows_of(count, columns, seed) are the numbers.
  template <class Shape, class RowsOf>
  Tokens(const Shape& shape, int count, std::uint32_t seed, const RowsOf& rows_of)
      : q(rows_of(count, shape.heads * shape.head_dim, seed)),
        k(rows_of(count, shape.kv_heads * shape.head_dim, seed + 1)),
        v(rows_of(count, shape.kv_heads * shape.head_dim, seed + 2)) {}
  template <class Shape>
  Tokens(const Shape& shape, int count, std::uint32_t seed)
      : Tokens(shape, count, seed,
               [](int rows, int cols, std::uint32_t of) { return RandomRows(rows, cols, of); }) {}

  Rows q;
  Rows k;
  Rows v;
};

// A run of a step: positions first .. first + count - 1 of a sequence whose pages are `table`.
struct StepPart {
  const Tokens* tokens;
  int first;
  int count;
  const std::vector<std::int32_t>* table;
  PageChoice choice{};
};

// The rows of all parts, part after part. The runs point to the parts' tables.
struct StepRows {
  explicit StepRows(const std::vector<StepPart>& parts) {
    for (const StepPart& part : parts) {
      runs.push_back({.first_row = static_cast<std::int32_t>(q.size()),
                      .rows = part.count,
                      .first_position = part.first,
                      .pages = *part.table,
                      .choice = part.choice});
      for (int i = part.first; i < part.first + part.count; ++i) {
        q.push_back(part.tokens->q[i]);
        k.push_back(part.tokens->k[i]);
        v.push_back(part.tokens->v[i]);
      }
    }
  }

  Rows q;
  Rows k;
  Rows v;
  std::vector<RowRun> runs;
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
