// Bounds of keys and what a query makes of them (page_choice.h), in plain C++: products and sums in
// one order, none fused, so that every machine chooses the same pages.
#pragma once

#include <cstdint>

#include "kernels/cpu/page_store.h"

namespace banyan::kernels {

// The least and the greatest of the keys of a whole page in each dimension, as bf16: rounded away
// from them, so that no key is outside. All are NaN where a number of a key is not finite.
void ReadKeyBounds(const PageStore& pages, std::int32_t page, std::int32_t layer,
                   std::int32_t kv_head, std::uint16_t* least, std::uint16_t* greatest);

// The sum over d of max(q[d] * least[d], q[d] * greatest[d]); infinity where that is not finite:
// who reads such a page is told so by what it reads. head_dim is a multiple of 8.
float BoundScore(const float* q, const std::uint16_t* least, const std::uint16_t* greatest,
                 std::int32_t head_dim);

}  // namespace banyan::kernels
