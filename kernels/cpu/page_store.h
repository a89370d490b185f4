// The bytes of KV pages: one mapping, touched as pages are written.
//
// One page: for each layer, keys then values, each of kv_heads planes of page_size slots; then,
// where the format has scales, for each head those of page_size keys and those of page_size values.
// A plane of values is [page_size, head_dim]. A plane of keys is [page_size / w, head_dim, w],
// tiles of w = kTileKeys slots whose dimensions lie beside each other, as attention multiplies
// them; where a page is not whole tiles w is 1.
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
  std::size_t page_bytes() const { return static_cast<std::size_t>(page_bytes_); }
  std::int32_t number_bytes() const { return layout_.bytes; }
  bool has_scales() const { return layout_.scale_bytes > 0; }

  // Dimension d of a slot's key is number d * key_stride() from here on.
  const std::byte* Key(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                       std::int32_t slot) const {
    return memory_.as<std::byte>() + KeyAt(page, layer, kv_head, slot);
  }
  std::int32_t key_stride() const { return key_stride_; }

  // Dimension d of a slot's value is number d, that of the next slot head_dim numbers on.
  const std::byte* Value(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                         std::int32_t slot) const {
    return memory_.as<std::byte>() + ValueAt(page, layer, kv_head, slot);
  }

  // A slot's scales, beside which those of the next slot are. Where there are scales.
  const std::uint16_t* KeyScale(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                                std::int32_t slot) const {
    return memory_.as<std::uint16_t>() + ScaleAt(page, layer, kv_head, slot) / 2;
  }
  const std::uint16_t* ValueScale(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                                  std::int32_t slot) const {
    return KeyScale(page, layer, kv_head, slot) + shape_.page_size;
  }

  // Rounds a head's key and value into a slot.
  void Store(const Ops& ops, const float* key, const float* value, std::int32_t page,
             std::int32_t layer, std::int32_t kv_head, std::int32_t slot);
  void CopySlots(const SlotCopy& copy);
  // Of one layer and KV head: slot slots[i] of the table `from` becomes slot i of the table `to`.
  // In this order, so that a slot may be written that was read before.
  struct HeadCopy {
    std::int32_t layer = 0;
    std::int32_t kv_head = 0;
    std::span<const std::int32_t> from;
    std::span<const std::int32_t> slots;
    std::span<const std::int32_t> to;
  };
  void CopyHeadSlots(const HeadCopy& copy);
  std::span<std::byte> Page(std::int32_t page);
  std::span<const std::byte> Page(std::int32_t page) const;
  // Of a page: what is written of one layer.
  std::span<std::byte> Layer(std::int32_t page, std::int32_t layer);

 private:
  // All in bytes from the first page on.
  std::int64_t LayerAt(std::int32_t page, std::int32_t layer) const {
    return page * page_bytes_ + layer * layer_bytes_;
  }
  std::int64_t KeyAt(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                     std::int32_t slot) const {
    const std::int32_t in_tile = slot % key_stride_;
    return LayerAt(page, layer) + kv_head * plane_ +
           (std::int64_t{slot - in_tile} * shape_.head_dim + in_tile) * layout_.bytes;
  }
  std::int64_t ValueAt(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                       std::int32_t slot) const {
    return LayerAt(page, layer) + (shape_.kv_heads + kv_head) * plane_ +
           std::int64_t{slot} * shape_.head_dim * layout_.bytes;
  }
  std::int64_t ScaleAt(std::int32_t page, std::int32_t layer, std::int32_t kv_head,
                       std::int32_t slot) const {
    const std::int64_t before = std::int64_t{2} * kv_head * shape_.page_size + slot;
    return LayerAt(page, layer) + 2 * shape_.kv_heads * plane_ + before * layout_.scale_bytes;
  }
  void CopyKeys(const std::byte* from, std::byte* to, std::int32_t slots) const;
  void CopyKey(const std::byte* from, std::byte* to) const;
  void CheckPage(std::int32_t page) const;

  KvShape shape_;
  KvLayout layout_;
  std::int64_t plane_ = 0;  // bytes of one head's keys in one page
  std::int64_t layer_bytes_ = 0;
  std::int64_t page_bytes_ = 0;
  std::int32_t key_stride_ = 1;
  Buffer memory_;
};

}  // namespace banyan::kernels
