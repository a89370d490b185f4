// What a step's rows attend to, as the device reads it: made on the host, once for all layers that
// have one window.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cuda/kernels.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {

// Runs' rows follow each other from row 0 on. Bounds: positions below 2^31; the tables of a step
// are as long as the batch's.
struct AttentionPlan {
  std::vector<AttentionItem> items;
  std::vector<std::int32_t> first_item;  // rows + 1 of them
  std::vector<std::int32_t> positions;
  std::vector<std::int64_t> first_page;
  std::vector<std::int32_t> tables;  // of each run once
  std::vector<std::int64_t> slots;   // where a row's key and value go: page * page_size + slot

  // Chunks that no row sees have no item. No run has a window of its own.
  void Make(std::span<const RowRun> runs, std::int32_t page_size, std::int64_t window);
};

}  // namespace banyan::kernels::cuda
