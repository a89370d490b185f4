#include "kernels/cuda/page_memory.h"

#include <new>
#include <utility>

#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

std::size_t BytesOf(const PageView& view, std::int64_t pages) {
  return static_cast<std::size_t>(view.page_bytes * pages);
}

// Pages beside sealed ones, as they are before these.
KvShape InHalves(KvShape shape, std::int32_t layers) {
  shape.format = KvFormat::kF16;
  shape.layers = layers;
  return shape;
}

}  // namespace

bool PageMemory::Allocate(const KvShape& shape) {
  *this = PageMemory();
  const bool seals = SealsPages(shape.format);
  Require(!seals || shape.open_pages > 0, "sealed pages have open ones beside them");
  KvPages view{.pages = ViewOf(shape)};
  if (seals)
    view.open = {ViewPages(InHalves(shape, shape.layers), nullptr),
                 ViewPages(InHalves(shape, 1), nullptr)};
  try {
    DeviceBuffer pages(BytesOf(view.pages, shape.pages));
    if (seals) open_ = DeviceBuffer(BytesOf(view.open.open, shape.open_pages));
    pages_ = std::move(pages);
  } catch (const std::bad_alloc&) {
    return false;
  }
  view.pages.memory = pages_.as<std::byte>();
  view.open.open.memory = open_.as<std::byte>();
  view_ = view;
  shape_ = shape;
  return true;
}

void PageMemory::Stage(std::int32_t pages) {
  staged_.Grow(BytesOf(view_.open.staged, pages));
  view_.open.staged.memory = staged_.as<std::byte>();
}

}  // namespace banyan::kernels::cuda
