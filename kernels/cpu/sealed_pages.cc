#include "kernels/cpu/sealed_pages.h"

#include <limits>

#include "kernels/require.h"

namespace banyan::kernels {

bool SealedPages::Allocate(const KvShape& shape) {
  Require(memory_.empty(), "pages are allocated once");
  Require(shape.format == KvFormat::kInt4, "pages are sealed in int4");
  Require(shape.layers > 0 && shape.kv_heads > 0 && shape.page_size > 0 && shape.pages > 0,
          "a page store has layers, heads, slots and pages");
  Require(0 < shape.head_dim && shape.head_dim <= KvShape::kMaxHeadDim &&
              shape.head_dim % kSealedDims == 0,
          "head_dim is a multiple of 32 up to kMaxHeadDim");
  Require(shape.page_size % kTileKeys == 0, "a sealed page is whole tiles of sixteen tokens");
  const std::int64_t page_bytes = BytesPerToken(shape) * shape.page_size;
  if (page_bytes > std::numeric_limits<std::int64_t>::max() / shape.pages) return false;
  memory_ = Buffer::Map(static_cast<std::size_t>(page_bytes * shape.pages));
  if (memory_.empty()) return false;
  shape_ = shape;
  tiles_ = shape.page_size / kTileKeys;
  page_bytes_ = page_bytes;
  head_bytes_ = page_bytes / (std::int64_t{shape.layers} * shape.kv_heads);
  return true;
}

SealedPages::Offsets SealedPages::OffsetsOf(const Place& place) const {
  Require(0 <= place.page && place.page < shape_.pages, "no such page");
  const std::int64_t head_dim = shape_.head_dim;
  const std::int64_t code_bytes = kTileKeys * head_dim / 2;
  const std::int64_t key_scale_bytes = head_dim * 2;
  const std::int64_t value_scale_bytes = head_dim / kSealedDims * kTileKeys * 2;
  const std::int64_t tile = place.tile;
  const std::int64_t head = std::int64_t{place.layer} * shape_.kv_heads + place.kv_head;
  const std::int64_t codes = place.page * page_bytes_ + head * head_bytes_;
  const std::int64_t key_scales = codes + 2 * tiles_ * code_bytes;
  const std::int64_t value_scales = key_scales + tiles_ * key_scale_bytes;
  const std::int64_t zeros = value_scales + tiles_ * value_scale_bytes;
  return {.key_codes = codes + tile * code_bytes,
          .value_codes = codes + (tiles_ + tile) * code_bytes,
          .key_scales = key_scales + tile * key_scale_bytes,
          .value_scales = value_scales + tile * value_scale_bytes,
          .key_zeros = zeros + tile * head_dim};
}

void SealedPages::Seal(const Ops& ops, const Place& place, const std::uint16_t* keys,
                       const std::uint16_t* values) {
  const Offsets at = OffsetsOf(place);
  auto* memory = memory_.as<std::byte>();
  const auto scales = [&](std::int64_t offset) {
    return reinterpret_cast<std::uint16_t*>(memory + offset);
  };
  ops.kv_int4.seal_keys(keys, shape_.head_dim,
                        {memory + at.key_codes, scales(at.key_scales),
                         reinterpret_cast<std::int8_t*>(memory + at.key_zeros)});
  ops.kv_int4.seal_values(values, shape_.head_dim,
                          {memory + at.value_codes, scales(at.value_scales)});
}

void SealedPages::Find(const Place& place, int t, ChunkTiles& out) const {
  const Offsets at = OffsetsOf(place);
  const auto* memory = memory_.as<std::byte>();
  out.keys[t] = memory + at.key_codes;
  out.values[t] = memory + at.value_codes;
  out.key_scales[t] = reinterpret_cast<const std::uint16_t*>(memory + at.key_scales);
  out.value_scales[t] = reinterpret_cast<const std::uint16_t*>(memory + at.value_scales);
  out.key_zeros[t] = reinterpret_cast<const std::int8_t*>(memory + at.key_zeros);
}

std::span<std::byte> SealedPages::Page(std::int32_t page) {
  Require(0 <= page && page < shape_.pages, "no such page");
  return {memory_.as<std::byte>() + page * page_bytes_, page_bytes()};
}

std::span<const std::byte> SealedPages::Page(std::int32_t page) const {
  Require(0 <= page && page < shape_.pages, "no such page");
  return {memory_.as<std::byte>() + page * page_bytes_, page_bytes()};
}

}  // namespace banyan::kernels
