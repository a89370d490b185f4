#include "kernels/cpu/page_store.h"

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
  page_bytes_ = page_bytes;
  return true;
}

void PageStore::CopySlots(const SlotCopy& copy) {
  CheckPage(copy.from);
  CheckPage(copy.to);
  Require(0 <= copy.slots && copy.slots <= shape_.page_size, "CopySlots: more slots than a page");
  if (copy.from == copy.to) return;
  const std::byte* from = Page(copy.from).data();
  std::byte* to = Page(copy.to).data();
  const auto stride = static_cast<std::size_t>(plane_) * 2;
  const auto bytes =
      static_cast<std::size_t>(copy.slots) * static_cast<std::size_t>(shape_.head_dim) * 2;
  for (std::size_t at = 0; at < page_bytes_; at += stride) std::memcpy(to + at, from + at, bytes);
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
