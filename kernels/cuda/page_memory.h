// The device's memory of KV pages: the pool, and where pages are sealed also open and staged ones.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device_buffer.h"
#include "kernels/cuda/pages.h"
#include "kernels/kv_shape.h"

namespace banyan::kernels::cuda {

class PageMemory {
 public:
  // A pool's pages, without their memory.
  static PageView ViewOf(const KvShape& shape) {
    return SealsPages(shape.format) ? ViewSealedPages(shape, nullptr) : ViewPages(shape, nullptr);
  }

  // What was there before is given up. False when the memory cannot be had.
  bool Allocate(const KvShape& shape);
  // Room for so many staged pages; what was in them is lost. Throws std::bad_alloc.
  void Stage(std::int32_t pages);

  const KvShape& shape() const { return shape_; }
  bool seals() const { return SealsPages(shape_.format); }
  const KvPages& view() const { return view_; }
  std::size_t page_bytes() const { return static_cast<std::size_t>(view_.pages.page_bytes); }
  std::byte* Page(std::int32_t page) const {
    return view_.pages.memory + page * view_.pages.page_bytes;
  }

 private:
  KvShape shape_;
  KvPages view_;
  DeviceBuffer pages_;
  DeviceBuffer open_;
  DeviceBuffer staged_;
};

}  // namespace banyan::kernels::cuda
