#include "kernels/cuda/pages.h"

#include <algorithm>

#include "kernels/require.h"

namespace banyan::kernels::cuda {

namespace {

PageView ViewOf(const KvShape& shape, std::byte* memory) {
  PageView view;
  view.memory = memory;
  view.kv_heads = shape.kv_heads;
  view.head_dim = shape.head_dim;
  view.page_size = shape.page_size;
  view.layers = shape.layers;
  view.format = shape.format;
  return view;
}

}  // namespace

PageView ViewPages(const KvShape& shape, std::byte* memory) {
  Require(std::ranges::count(kPageFormats, shape.format) == 1,
          "a device's pages are in one of kPageFormats");
  const KvLayout& layout = LayoutOf(shape.format);
  PageView view = ViewOf(shape, memory);
  view.slot_bytes = shape.head_dim * layout.bytes;
  view.scale_bytes = layout.scale_bytes;
  view.plane_bytes = std::int64_t{shape.page_size} * view.slot_bytes;
  const std::int64_t scales =
      std::int64_t{2} * shape.kv_heads * shape.page_size * layout.scale_bytes;
  const std::int64_t whole = 2 * shape.kv_heads * view.plane_bytes + scales;
  view.layer_bytes = (whole + PageView::kAlignment - 1) / PageView::kAlignment *  //
                     PageView::kAlignment;
  view.page_bytes = shape.layers * view.layer_bytes;
  return view;
}

PageView ViewSealedPages(const KvShape& shape, std::byte* memory) {
  Require(SealsPages(shape.format), "pages are sealed in int4");
  Require(shape.head_dim % HeadDimUnit(shape.format) == 0 &&
              shape.page_size % PageSizeUnit(shape.format) == 0,
          "a sealed page is whole tiles");
  PageView view = ViewOf(shape, memory);
  view.page_bytes = BytesPerToken(shape) * shape.page_size;
  view.layer_bytes = view.page_bytes / shape.layers;
  view.plane_bytes = view.layer_bytes / shape.kv_heads;
  return view;
}

}  // namespace banyan::kernels::cuda
