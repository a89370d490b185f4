#include "kernels/cpu/page_store.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "kernels/cpu/variants.h"
#include "kernels/require.h"

namespace banyan::kernels {
namespace {

// Of `count` numbers, each `stride` places behind the one before, the same there.
template <class Number>
void CopyLane(const std::byte* from, std::int32_t count, std::int32_t stride, std::byte* to) {
  const auto step = static_cast<std::int32_t>(stride * sizeof(Number));
  for (std::int32_t i = 0; i < count; ++i, from += step, to += step)
    std::memcpy(to, from, sizeof(Number));
}

// Of `count` numbers side by side each to every `stride`-th place.
template <class Number>
void Scatter(const std::byte* from, std::int32_t count, std::int32_t stride, std::byte* to) {
  for (std::int32_t i = 0; i < count; ++i, to += stride * sizeof(Number))
    std::memcpy(to, from + i * sizeof(Number), sizeof(Number));
}

}  // namespace

bool PageStore::Allocate(const KvShape& shape) {
  Require(memory_.empty(), "pages are allocated once");
  Require(shape.layers > 0 && shape.kv_heads > 0 && shape.page_size > 0 && shape.pages > 0,
          "a page store has layers, heads, slots and pages");
  Require(0 < shape.head_dim && shape.head_dim <= KvShape::kMaxHeadDim && shape.head_dim % 8 == 0,
          "head_dim is a multiple of 8 up to kMaxHeadDim");
  const std::int64_t page_bytes = BytesPerToken(shape) * shape.page_size;
  if (page_bytes > std::numeric_limits<std::int64_t>::max() / shape.pages) return false;
  memory_ = Buffer::Map(static_cast<std::size_t>(page_bytes * shape.pages));
  if (memory_.empty()) return false;
  shape_ = shape;
  layout_ = LayoutOf(shape.format);
  plane_ = std::int64_t{shape.page_size} * shape.head_dim * layout_.bytes;
  layer_bytes_ = page_bytes / shape.layers;
  page_bytes_ = page_bytes;
  key_stride_ = shape.page_size % kTileKeys == 0 ? kTileKeys : 1;
  return true;
}

void PageStore::Store(const Ops& ops, const float* key, const float* value, std::int32_t page,
                      std::int32_t layer, std::int32_t kv_head, std::int32_t slot) {
  const KvOps& kv = KvOpsOf(ops, shape_.format);
  const std::int32_t dims = shape_.head_dim;
  std::uint16_t* key_scale = nullptr;
  std::uint16_t* value_scale = nullptr;
  if (has_scales()) {
    key_scale = memory_.as<std::uint16_t>() + ScaleAt(page, layer, kv_head, slot) / 2;
    value_scale = key_scale + shape_.page_size;
  }
  std::byte* values = memory_.as<std::byte>() + ValueAt(page, layer, kv_head, slot);
  std::array<std::byte, std::size_t{2} * KvShape::kMaxHeadDim> keys;
  kv.store(key, dims, keys.data(), key_scale);
  kv.store(value, dims, values, value_scale);
  if (shape_.format == KvFormat::kFp8) {
    // What attention asks is whether the key is NaN.
    constexpr std::byte kNaN{Fp8::kNaN};
    if (keys[0] == kNaN || values[0] == kNaN) {
      std::fill_n(keys.data(), dims, kNaN);
      std::fill_n(values, dims, kNaN);
    }
  }
  std::byte* to = memory_.as<std::byte>() + KeyAt(page, layer, kv_head, slot);
  if (layout_.bytes == 2)
    Scatter<std::uint16_t>(keys.data(), dims, key_stride_, to);
  else
    Scatter<std::uint8_t>(keys.data(), dims, key_stride_, to);
}

// The keys of a head in the first slots of a page.
void PageStore::CopyKeys(const std::byte* from, std::byte* to, std::int32_t slots) const {
  const std::int32_t tail = slots % key_stride_;  // slots of a tile copied in part
  const std::int64_t whole = std::int64_t{slots - tail} * shape_.head_dim * layout_.bytes;
  std::memcpy(to, from, static_cast<std::size_t>(whole));
  if (tail == 0) return;
  from += whole;
  to += whole;
  const std::int64_t row = std::int64_t{key_stride_} * layout_.bytes;
  for (std::int32_t d = 0; d < shape_.head_dim; ++d, from += row, to += row)
    std::memcpy(to, from, static_cast<std::size_t>(tail * layout_.bytes));
}

void PageStore::CopySlots(const SlotCopy& copy) {
  CheckPage(copy.from);
  CheckPage(copy.to);
  Require(0 <= copy.slots && copy.slots <= shape_.page_size, "CopySlots: more slots than a page");
  if (copy.from == copy.to) return;
  std::byte* memory = memory_.as<std::byte>();
  const auto copy_bytes = [memory](std::int64_t from, std::int64_t to, std::int64_t bytes) {
    std::memcpy(memory + to, memory + from, static_cast<std::size_t>(bytes));
  };
  const std::int64_t values = std::int64_t{copy.slots} * shape_.head_dim * layout_.bytes;
  const std::int64_t scales = std::int64_t{copy.slots} * layout_.scale_bytes;
  const std::int64_t scale_plane = std::int64_t{shape_.page_size} * layout_.scale_bytes;
  for (std::int32_t layer = 0; layer < shape_.layers; ++layer) {
    for (std::int32_t head = 0; head < shape_.kv_heads; ++head) {
      CopyKeys(memory + KeyAt(copy.from, layer, head, 0), memory + KeyAt(copy.to, layer, head, 0),
               copy.slots);
      copy_bytes(ValueAt(copy.from, layer, head, 0), ValueAt(copy.to, layer, head, 0), values);
      const std::int64_t from = ScaleAt(copy.from, layer, head, 0);
      const std::int64_t to = ScaleAt(copy.to, layer, head, 0);
      copy_bytes(from, to, scales);
      copy_bytes(from + scale_plane, to + scale_plane, scales);
    }
  }
}

void PageStore::CopyKey(const std::byte* from, std::byte* to) const {
  if (layout_.bytes == 2)
    CopyLane<std::uint16_t>(from, shape_.head_dim, key_stride_, to);
  else
    CopyLane<std::uint8_t>(from, shape_.head_dim, key_stride_, to);
}

void PageStore::CopyHeadSlots(const HeadCopy& copy) {
  struct Place {
    std::int32_t page;
    std::int32_t slot;
    bool operator==(const Place&) const = default;
  };
  const auto place = [&](std::span<const std::int32_t> table, std::int64_t slot) -> Place {
    return {table[static_cast<std::size_t>(slot / shape_.page_size)],
            static_cast<std::int32_t>(slot % shape_.page_size)};
  };
  const auto values = static_cast<std::size_t>(shape_.head_dim * layout_.bytes);
  const std::int64_t scale_plane = std::int64_t{shape_.page_size} * layout_.scale_bytes;
  const auto scale = static_cast<std::size_t>(layout_.scale_bytes);
  std::byte* memory = memory_.as<std::byte>();
  for (std::int64_t i = 0; i < std::ssize(copy.slots); ++i) {
    const Place from = place(copy.from, copy.slots[static_cast<std::size_t>(i)]);
    const Place to = place(copy.to, i);
    if (from == to) continue;
    const auto at = [&](auto find, const Place& slot) {
      return memory + (this->*find)(slot.page, copy.layer, copy.kv_head, slot.slot);
    };
    CopyKey(at(&PageStore::KeyAt, from), at(&PageStore::KeyAt, to));
    std::memcpy(at(&PageStore::ValueAt, to), at(&PageStore::ValueAt, from), values);
    if (!has_scales()) continue;
    const std::byte* from_scale = at(&PageStore::ScaleAt, from);
    std::byte* to_scale = at(&PageStore::ScaleAt, to);
    std::memcpy(to_scale, from_scale, scale);
    std::memcpy(to_scale + scale_plane, from_scale + scale_plane, scale);
  }
}

std::span<std::byte> PageStore::Page(std::int32_t page) {
  CheckPage(page);
  return {memory_.as<std::byte>() + page * page_bytes_, page_bytes()};
}

std::span<const std::byte> PageStore::Page(std::int32_t page) const {
  CheckPage(page);
  return {memory_.as<std::byte>() + page * page_bytes_, page_bytes()};
}

std::span<std::byte> PageStore::Layer(std::int32_t page, std::int32_t layer) {
  CheckPage(page);
  return {memory_.as<std::byte>() + LayerAt(page, layer), static_cast<std::size_t>(layer_bytes_)};
}

void PageStore::CheckPage(std::int32_t page) const {
  Require(0 <= page && page < shape_.pages, "no such page");
}

}  // namespace banyan::kernels
