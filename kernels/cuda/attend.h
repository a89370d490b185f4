// What Attend launches: tiles, by the format of the pages that they read, and the merge of what
// chunks are worth.
#pragma once

#include <cstdint>

#include "kernels/cuda/attention.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/pages.h"
#include "kernels/cuda/runtime.h"
#include "kernels/kv_shape.h"

namespace banyan::kernels::cuda {

struct AttendArguments {
  Queries queries;
  AttentionWork work;
  AttentionPartials partials;
  PageView pages;  // how those that this launch reads are laid out
  OpenView open;
  std::int32_t layer = 0;
  std::int32_t first_tile = 0;
  std::int32_t first_item = 0;
};

// So many tiles of at most `queries` queries, from arguments.first_tile on.
template <KvFormat kFormat>
void AttendTiles(Stream stream, const AttendArguments& arguments, std::int32_t tiles,
                 std::int32_t queries, const Output& out);

// Of the part's rows that have items.
void MergeChunks(Stream stream, const AttentionWork& work, const AttentionPart& part,
                 const AttentionPartials& partials, std::int32_t heads, std::int32_t head_dim,
                 const Output& out);

}  // namespace banyan::kernels::cuda
