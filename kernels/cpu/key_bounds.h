// Bounds of keys (page_choice.h).
#pragma once

#include <cstdint>

#include "kernels/cpu/ops.h"
#include "kernels/cpu/page_store.h"

namespace banyan::kernels {

// The least and the greatest of the keys of a whole page in each dimension, as bf16: rounded away
// from them, so that no key is outside. All are NaN where a number of a key is not finite.
void ReadKeyBounds(const Ops& ops, const PageStore& pages, std::int32_t page, std::int32_t layer,
                   std::int32_t kv_head, std::uint16_t* least, std::uint16_t* greatest);

}  // namespace banyan::kernels
