// The kernels by which queries choose the pages that they read (kernels/page_choice.h). What a
// choice depends on is computed as on the CPU, sum by sum: the same queries and pages give the same
// choice on both.
#pragma once

#include <cstdint>

#include "kernels/cuda/numbers.h"
#include "kernels/cuda/pages.h"
#include "kernels/cuda/runtime.h"

namespace banyan::kernels::cuda {

// Bounds of the keys of whole pages: [layers, kv_heads, pages][2, head_dim], the least and the
// greatest.
struct BoundsView {
  Bf16* numbers = nullptr;
  std::int32_t pages = 0;
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;

  constexpr std::int64_t At(std::int32_t page, std::int32_t layer, std::int32_t kv_head) const {
    return ((std::int64_t{layer} * kv_heads + kv_head) * pages + page) * 2 * head_dim;
  }
};

// Of `count` pages, in layers first_layer .. first_layer + layers - 1. All bounds of a head are NaN
// where a number of its keys is not finite. Pages are not sealed.
void ReadKeyBounds(Stream stream, const std::int32_t* which, std::int32_t count,
                   const PageView& pages, std::int32_t first_layer, std::int32_t layers,
                   const BoundsView& bounds);

// A row that sees more pages than it reads.
struct ChoosingRow {
  std::int32_t row = 0;
  std::int32_t old = 0;        // pages that it chooses among: those that it sees but the newest
  std::int32_t chosen = 0;     // of them, fewer
  std::int32_t newest = 0;     // that it reads in any case, behind those
  std::int64_t seen_page = 0;  // in the tables: where its run's table begins
  std::int64_t read_page = 0;  // where its own does: [kv_heads, chosen + newest]
  std::int64_t score = 0;      // in the scores: [kv_heads, old]
};

struct ChoiceStep {
  const float* q = nullptr;  // [rows of the step, heads * head_dim], as RopeAndStore leaves them
  std::int32_t heads = 0;
  const ChoosingRow* rows = nullptr;
  std::int32_t count = 0;
  std::int32_t most_old = 0;       // of a row
  std::int32_t* tables = nullptr;  // of the step; rows' own are written
  float* scores = nullptr;         // scratch
};
void ChoosePages(Stream stream, const ChoiceStep& step, const BoundsView& bounds,
                 std::int32_t layer);

}  // namespace banyan::kernels::cuda
