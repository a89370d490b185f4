#include "kernels/cpu/page_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "kernels/require.h"

namespace banyan::kernels {

bool PageStore::Allocate(const KvShape& shape) {
  Require(memory_.empty(), "pages are allocated once");
  Require(shape.layers > 0 && shape.kv_heads > 0 && shape.page_size > 0 && shape.pages > 0,
          "a page store has layers, heads, slots and pages");
  Require(shape.head_dim > 0 && shape.head_dim % 8 == 0, "head_dim is a multiple of 8");
  const auto page_bytes = static_cast<std::size_t>(shape.values_per_token()) * 2 *
                          static_cast<std::size_t>(shape.page_size);
  const auto pages = static_cast<std::size_t>(shape.pages);
  if (page_bytes > std::numeric_limits<std::size_t>::max() / 2 / pages) return false;
  memory_ = Buffer::Map(page_bytes * pages);
  if (memory_.empty()) return false;
  shape_ = shape;
  plane_ = std::int64_t{shape.page_size} * shape.head_dim;
  key_stride_ = shape.page_size % kTileKeys == 0 ? kTileKeys : 1;
  page_bytes_ = page_bytes;
  return true;
}

void PageStore::Store(const Ops& ops, const float* key, const float* value, std::int32_t page,
                      std::int32_t layer, std::int32_t kv_head, std::int32_t slot) {
  ops.store_f16(value, shape_.head_dim, Value(page, layer, kv_head, slot));
  std::uint16_t* to = Key(page, layer, kv_head, slot);
  if (key_stride_ == 1) return ops.store_f16(key, shape_.head_dim, to);
  std::array<std::uint16_t, 64> part;
  for (std::int32_t d = 0; d < shape_.head_dim; d += std::ssize(part)) {
    const auto size = std::min<std::int32_t>(std::ssize(part), shape_.head_dim - d);
    ops.store_f16(key + d, size, part.data());
    for (std::int32_t i = 0; i < size; ++i, to += key_stride_) *to = part[i];
  }
}

void PageStore::CopySlots(const SlotCopy& copy) {
  CheckPage(copy.from);
  CheckPage(copy.to);
  Require(0 <= copy.slots && copy.slots <= shape_.page_size, "CopySlots: more slots than a page");
  if (copy.from == copy.to) return;
  const std::int32_t tail = copy.slots % key_stride_;  // slots of a tile copied in part
  const auto whole_keys =
      static_cast<std::size_t>(std::int64_t{copy.slots - tail} * shape_.head_dim) * 2;
  const auto values = static_cast<std::size_t>(std::int64_t{copy.slots} * shape_.head_dim) * 2;
  for (std::int32_t layer = 0; layer < shape_.layers; ++layer) {
    for (std::int32_t head = 0; head < shape_.kv_heads; ++head) {
      const std::uint16_t* from = Key(copy.from, layer, head, 0);
      std::uint16_t* to = Key(copy.to, layer, head, 0);
      std::memcpy(to, from, whole_keys);
      if (tail > 0) {
        from += whole_keys / 2;
        to += whole_keys / 2;
        for (std::int32_t d = 0; d < shape_.head_dim; ++d)
          std::copy_n(from + d * key_stride_, tail, to + d * key_stride_);
      }
      std::memcpy(Value(copy.to, layer, head, 0), Value(copy.from, layer, head, 0), values);
    }
  }
}

std::span<std::byte> PageStore::Page(std::int32_t page) {
  CheckPage(page);
  return {memory_.as<std::byte>() + static_cast<std::size_t>(page) * page_bytes_, page_bytes_};
}

std::span<const std::byte> PageStore::Page(std::int32_t page) const {
  CheckPage(page);
  return {memory_.as<std::byte>() + static_cast<std::size_t>(page) * page_bytes_, page_bytes_};
}

void PageStore::CheckPage(std::int32_t page) const {
  Require(0 <= page && page < shape_.pages, "no such page");
}

}  // namespace banyan::kernels
