// What the runs of a step, and compactions, are held to, whatever the backend.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kv_compaction.h"
#include "kernels/kv_shape.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

// Aborts where a run is not of rows below max_rows, or not of what its page table covers in a store
// of this shape. One past the last row.
std::int32_t CheckRuns(std::span<const RowRun> runs, std::int32_t max_rows, const KvShape& shape);

// Aborts where what is to be kept is not sound, or a table does not cover its slots.
void CheckCompaction(const KvCompaction& compaction, const KvShape& shape);

}  // namespace banyan::kernels
