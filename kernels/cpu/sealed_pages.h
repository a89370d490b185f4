// The bytes of KV pages that are sealed in 4 bits (int4_ops.h): one mapping, touched as pages are
// sealed. Nothing is written into a page but whole tiles.
//
// One page: for each layer and KV head, codes of keys, codes of values, scales of keys, scales of
// values and zeros of keys, each tile by tile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/ops.h"
#include "kernels/kv_shape.h"

namespace banyan::kernels {

class SealedPages {
 public:
  // Once. The format is int4, head_dim a multiple of 32 and page_size one of kTileKeys. False when
  // the memory cannot be had.
  bool Allocate(const KvShape& shape);

  const KvShape& shape() const { return shape_; }
  std::size_t page_bytes() const { return static_cast<std::size_t>(page_bytes_); }

  // Which of a page's tiles.
  struct Place {
    std::int32_t page = 0;
    std::int32_t layer = 0;
    std::int32_t kv_head = 0;
    std::int32_t tile = 0;
  };
  // From a tile of keys and one of values as pages of f16 have them.
  void Seal(const Ops& ops, const Place& place, const std::uint16_t* keys,
            const std::uint16_t* values);
  // Where the tile is, to tile t of a chunk.
  void Find(const Place& place, int t, ChunkTiles& out) const;

  std::span<std::byte> Page(std::int32_t page);
  std::span<const std::byte> Page(std::int32_t page) const;

 private:
  // In bytes from the first page on.
  struct Offsets {
    std::int64_t key_codes;
    std::int64_t value_codes;
    std::int64_t key_scales;
    std::int64_t value_scales;
    std::int64_t key_zeros;
  };
  Offsets OffsetsOf(const Place& place) const;

  KvShape shape_;
  std::int64_t tiles_ = 0;       // of a page and head
  std::int64_t head_bytes_ = 0;  // of a page's head in one layer
  std::int64_t page_bytes_ = 0;
  Buffer memory_;
};

}  // namespace banyan::kernels
