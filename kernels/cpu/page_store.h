// The bytes of KV pages: one mapping, touched as pages are written.
//
// One page: for each layer, keys then values, each of kv_heads planes of page_size slots in f16. A
// plane of values is [page_size, head_dim]. A plane of keys is [page_size / w, head_dim, w], tiles
// of w = kTileKeys slots whose dimensions lie beside each other, as attention multiplies them;
// where a page is not whole tiles w is 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/ops.h"
#include "kernels/kv_shape.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

class PageStore {
 public:
  // Once. False when the memory cannot be had.
  bool Allocate(const KvShape& shape);

  const KvShape& shape() const { return shape_; }
  std::size_t page_bytes() const { return page_bytes_; }

  // Dimension d of a slot's key is at [d * key_stride()].
  std::uint16_t* Key(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                     std::int32_t slot) {
    return memory_.as<std::uint16_t>() + Plane(page, layer, kv_head) + KeyOffset(slot);
  }
  const std::uint16_t* Key(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                           std::int32_t slot) const {
    return memory_.as<std::uint16_t>() + Plane(page, layer, kv_head) + KeyOffset(slot);
  }
  std::int32_t key_stride() const { return key_stride_; }

  // Dimension d of a slot's value is at [d], that of the next slot head_dim halves on.
  std::uint16_t* Value(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                       std::int32_t slot) {
    return memory_.as<std::uint16_t>() + Plane(page, layer, kv_head) + ValueOffset(slot);
  }
  const std::uint16_t* Value(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                             std::int32_t slot) const {
    return memory_.as<std::uint16_t>() + Plane(page, layer, kv_head) + ValueOffset(slot);
  }

  // Rounds a head's key and value into a slot.
  void Store(const Ops& ops, const float* key, const float* value, std::int32_t page,
             std::int32_t layer, std::int32_t kv_head, std::int32_t slot);
  void CopySlots(const SlotCopy& copy);
  std::span<std::byte> Page(std::int32_t page);
  std::span<const std::byte> Page(std::int32_t page) const;

 private:
  // Where the keys of a head begin, in halves.
  std::int64_t Plane(std::int32_t page, std::int32_t layer, std::int32_t kv_head) const {
    return page * static_cast<std::int64_t>(page_bytes_ / 2) +
           (std::int64_t{2} * layer * shape_.kv_heads + kv_head) * plane_;
  }
  std::int64_t KeyOffset(std::int32_t slot) const {
    const std::int32_t in_tile = slot % key_stride_;
    return std::int64_t{slot - in_tile} * shape_.head_dim + in_tile;
  }
  std::int64_t ValueOffset(std::int32_t slot) const {
    return shape_.kv_heads * plane_ + std::int64_t{slot} * shape_.head_dim;
  }
  void CheckPage(std::int32_t page) const;

  KvShape shape_;
  std::int64_t plane_ = 0;  // halves of one head's keys in one page: page_size * head_dim
  std::int32_t key_stride_ = 1;
  std::size_t page_bytes_ = 0;
  Buffer memory_;
};

}  // namespace banyan::kernels
