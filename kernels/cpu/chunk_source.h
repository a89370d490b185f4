// Where the keys and values of a chunk are read: in pages of whole tiles; or, where pages are not
// that, in tiles that a thread puts together from their slots.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/cpu/chunk_queries.h"
#include "kernels/cpu/ops.h"
#include "kernels/cpu/page_store.h"
#include "kernels/cpu/prefix_order.h"
#include "kernels/cpu/sealed_kv.h"
#include "kernels/kv_shape.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

// The pages that are attended to.
struct KvPages {
  const PageStore* store = nullptr;
  const SealedKv* sealed = nullptr;  // in place of `store`

  const KvShape& shape() const { return sealed != nullptr ? sealed->shape() : store->shape(); }
  bool are_tiles() const { return sealed != nullptr || store->key_stride() == kTileKeys; }
  OwnPage own() const { return sealed != nullptr ? OwnPage::kApart : OwnPage::kInChunks; }
  // One past the last key that the query in `slot` reads in chunks.
  std::int64_t ChunkedKeys(std::int64_t slot) const {
    return kernels::ChunkedKeys(own(), shape().page_size, slot);
  }
};

class ChunkSource {
 public:
  // Which chunk, and what is there of it.
  struct Place {
    const RowRun* run = nullptr;  // whose table names its pages
    std::int32_t kv_head = 0;
    std::int64_t keys_before = 0;  // its first key
    ChunkKeys keys;                // at least one
  };
  struct Chunk {
    ChunkTiles tiles;
    // Where pages are not whole tiles: the slots that Tile puts where `tiles` has them.
    std::array<const std::byte*, kChunkKeys> keys;
    std::array<const std::byte*, kChunkKeys> values;
    std::array<const std::uint16_t*, kChunkKeys> key_scales;
    std::array<const std::uint16_t*, kChunkKeys> value_scales;
  };

  // What the tiles of a chunk take: numbers of 2 bytes at most, and scales.
  static std::int64_t Floats(std::int32_t head_dim) {
    return (std::int64_t{head_dim} + 1) * kChunkKeys;
  }
  // `scratch` has Floats, which are this source's.
  ChunkSource(const KvPages& pages, std::int32_t layer, float* scratch);

  // In places of keys that are not there are the nearest.
  void Find(const Place& place, Chunk& out) const;
  // To be called before the tiles of `chunk` are read. What `next` needs comes into the caches.
  void Tile(const Chunk& chunk, const Chunk& next) const;

 private:
  void FindTiles(const Place& place, Chunk& out) const;
  void FindSlots(const Place& place, Chunk& out) const;

  const KvPages pages_;
  const std::int32_t layer_;
  // Keys and values as a page of whole tiles would have them.
  std::byte* keys_;              // [kChunkKeys / kTileKeys, head_dim, kTileKeys]
  std::byte* values_;            // [kChunkKeys, head_dim]
  std::uint16_t* key_scales_;    // [kChunkKeys]
  std::uint16_t* value_scales_;  // [kChunkKeys]
};

}  // namespace banyan::kernels
