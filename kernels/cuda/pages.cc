#include "kernels/cuda/pages.h"

#include <algorithm>

#include "kernels/require.h"

namespace banyan::kernels::cuda {

PageView ViewPages(const KvShape& shape, std::byte* memory) {
  Require(std::ranges::count(kPageFormats, shape.format) == 1,
          "a device's pages are in one of kPageFormats");
  const KvLayout& layout = LayoutOf(shape.format);
  PageView view;
  view.memory = memory;
  view.kv_heads = shape.kv_heads;
  view.head_dim = shape.head_dim;
  view.page_size = shape.page_size;
  view.slot_bytes = shape.head_dim * layout.bytes;
  view.scale_bytes = layout.scale_bytes;
  view.layers = shape.layers;
  view.format = shape.format;
  view.plane_bytes = std::int64_t{shape.page_size} * view.slot_bytes;
  const std::int64_t scales =
      std::int64_t{2} * shape.kv_heads * shape.page_size * layout.scale_bytes;
  const std::int64_t whole = 2 * shape.kv_heads * view.plane_bytes + scales;
  view.layer_bytes = (whole + PageView::kAlignment - 1) / PageView::kAlignment *  //
                     PageView::kAlignment;
  view.page_bytes = shape.layers * view.layer_bytes;
  return view;
}

}  // namespace banyan::kernels::cuda
