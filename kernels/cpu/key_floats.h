// Keys as pages have them, as floats.
#pragma once

#include <cstdint>

#include "kernels/cpu/ops.h"
#include "kernels/cpu/page_store.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

// kTileKeys slots of a run from a multiple of that on; those behind `last_slot` are not read, or
// are anything.
struct KeyTile {
  const RowRun* run = nullptr;
  std::int32_t layer = 0;
  std::int32_t kv_head = 0;
  std::int64_t first_slot = 0;
  std::int64_t last_slot = 0;
};

// Dimension d of the tile's key i is factors[i] * tile[d * kTileKeys + i]. A factor is NaN where
// the key is. The same bits whatever the page size.
void ReadKeys(const Ops& ops, const PageStore& pages, const KeyTile& which, float* tile,
              float* factors);

}  // namespace banyan::kernels
