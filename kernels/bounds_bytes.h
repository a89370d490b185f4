// How many bytes the bounds of keys take, by which queries choose pages (page_choice.h).
#pragma once

#include <cstdint>

#include "kernels/kv_shape.h"

namespace banyan::kernels {

// Of one page, beside it, once a query looks at it: two bf16 for each layer, KV head and dimension.
// 0 where pages are sealed, which have none.
inline std::int64_t BoundsBytes(const KvShape& shape) {
  if (SealsPages(shape.format)) return 0;
  return std::int64_t{2} * shape.layers * shape.kv_heads * shape.head_dim * 2;
}

}  // namespace banyan::kernels
