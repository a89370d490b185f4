// Where the device's KV pages keep what.
//
// One page: for each layer, keys then values, each of kv_heads planes of [page_size, head_dim], and
// where the format has scales (f16) those of [kv_heads][keys, values][page_size]; then zeros up to
// a multiple of 16 bytes. So a warp reads neighbouring slots of a head as one run of memory, in
// vectors of eight numbers, and a page is one run for copies to the host and back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/kv_shape.h"

namespace banyan::kernels::cuda {

// The formats that a device's pages have: not those that are sealed when they are full.
inline constexpr std::array kPageFormats = {KvFormat::kF16, KvFormat::kBf16, KvFormat::kFp8,
                                            KvFormat::kInt8};

struct PageView {
  static constexpr std::int64_t kAlignment = 16;

  std::byte* memory = nullptr;
  std::int64_t page_bytes = 0;
  std::int64_t layer_bytes = 0;
  std::int64_t plane_bytes = 0;  // of one head's keys, or values
  std::int32_t kv_heads = 0;
  std::int32_t head_dim = 0;
  std::int32_t page_size = 0;
  std::int32_t slot_bytes = 0;   // of a head's key, or value: a multiple of 8
  std::int32_t scale_bytes = 0;  // of its scale; 0: there is none
  std::int32_t layers = 0;
  KvFormat format = KvFormat::kF16;

  // From `memory` on, in bytes. The value lies values_after() behind the key.
  constexpr std::int64_t KeyAt(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                               std::int32_t slot) const {
    return page * page_bytes + layer * layer_bytes + kv_head * plane_bytes +
           std::int64_t{slot} * slot_bytes;
  }
  constexpr std::int64_t values_after() const { return kv_heads * plane_bytes; }
  // Of the key; that of the value is page_size scales on.
  constexpr std::int64_t ScaleAt(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                                 std::int32_t slot) const {
    return page * page_bytes + layer * layer_bytes + 2 * kv_heads * plane_bytes +
           (std::int64_t{2} * kv_head * page_size + slot) * 2;
  }
};

// `memory` is shape.pages pages, aligned to PageView::kAlignment. The format is of kPageFormats.
PageView ViewPages(const KvShape& shape, std::byte* memory);

}  // namespace banyan::kernels::cuda
