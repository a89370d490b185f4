// The bytes of KV pages: one mapping, touched as pages are written.
//
// One page: for each layer, keys then values, each [kv_heads, page_size, head_dim] in f16.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/buffer.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

class PageStore {
 public:
  // Once. False when the memory cannot be had.
  bool Allocate(const KvShape& shape);

  const KvShape& shape() const { return shape_; }
  std::size_t page_bytes() const { return page_bytes_; }

  // The first of `page_size` slots of head_dim halves each; its values lie value_offset() halves
  // on.
  std::uint16_t* Keys(std::int32_t page, std::int32_t layer, std::int32_t kv_head) {
    return memory_.as<std::uint16_t>() + Offset(page, layer, kv_head);
  }
  const std::uint16_t* Keys(std::int32_t page, std::int32_t layer, std::int32_t kv_head) const {
    return memory_.as<std::uint16_t>() + Offset(page, layer, kv_head);
  }
  std::int64_t value_offset() const { return shape_.kv_heads * plane_; }

  void CopySlots(const SlotCopy& copy);
  std::span<std::byte> Page(std::int32_t page);
  std::span<const std::byte> Page(std::int32_t page) const;

 private:
  std::int64_t Offset(std::int32_t page, std::int32_t layer, std::int32_t kv_head) const {
    return page * static_cast<std::int64_t>(page_bytes_ / 2) +
           (std::int64_t{2} * layer * shape_.kv_heads + kv_head) * plane_;
  }
  void CheckPage(std::int32_t page) const;

  KvShape shape_;
  std::int64_t plane_ = 0;  // halves of one head's keys in one page: page_size * head_dim
  std::size_t page_bytes_ = 0;
  Buffer memory_;
};

}  // namespace banyan::kernels
