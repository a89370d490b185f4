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
  std::vector<AttentionRow> rows;
  std::vector<std::int32_t> tables;  // of each run once
  std::vector<std::int64_t> slots;   // where a row's key and value go: page * page_size + slot
  // Rows that see sinks, and how far their queries are to be turned for them, in positions.
  std::vector<std::int32_t> sink_rows;
  std::vector<std::int32_t> sink_turns;

  // Chunks that no row sees have no item. The window is the layer's, 0 where runs have their own.
  // Runs keep to CheckRuns (kernels/runs.h), see all slots of what they see, and have one table for
  // all heads.
  void Make(std::span<const RowRun> runs, std::int32_t page_size, std::int64_t window);

 private:
  void AddRow(const RowRun& run, std::int64_t position, const KeyWindow& window);
};

}  // namespace banyan::kernels::cuda
