#include "kernels/cpu/chunk_source.h"

#include <algorithm>

#include "kernels/cpu/key_tiles.h"

namespace banyan::kernels {

ChunkSource::ChunkSource(const KvPages& pages, std::int32_t layer, float* scratch)
    : pages_(pages), layer_(layer) {
  const std::int64_t plane_bytes = std::int64_t{2} * pages.shape().head_dim * kChunkKeys;
  keys_ = reinterpret_cast<std::byte*>(scratch);
  values_ = keys_ + plane_bytes;
  key_scales_ = reinterpret_cast<std::uint16_t*>(values_ + plane_bytes);
  value_scales_ = key_scales_ + kChunkKeys;
}

void ChunkSource::Find(const Place& place, Chunk& out) const {
  if (pages_.are_tiles()) return FindTiles(place, out);
  FindSlots(place, out);
}

void ChunkSource::FindTiles(const Place& place, Chunk& out) const {
  const std::int32_t page_size = pages_.shape().page_size;
  ChunkTiles& tiles = out.tiles;
  for (int t = 0; t < kChunkKeys / kTileKeys; ++t) {
    const int tile = std::clamp(t, place.keys.first / kTileKeys, (place.keys.last - 1) / kTileKeys);
    const std::int64_t at = place.keys_before + tile * kTileKeys;
    const std::int32_t page = place.run->page(at / page_size, place.kv_head);
    const auto slot = static_cast<std::int32_t>(at % page_size);
    if (pages_.sealed != nullptr) {
      pages_.sealed->sealed().Find({page, layer_, place.kv_head, slot / kTileKeys}, t, tiles);
      continue;
    }
    const PageStore& store = *pages_.store;
    tiles.keys[t] = store.Key(page, layer_, place.kv_head, slot);
    tiles.values[t] = store.Value(page, layer_, place.kv_head, slot);
    if (!store.has_scales()) continue;
    tiles.key_scales[t] = store.KeyScale(page, layer_, place.kv_head, slot);
    tiles.value_scales[t] = store.ValueScale(page, layer_, place.kv_head, slot);
  }
}

void ChunkSource::FindSlots(const Place& place, Chunk& out) const {
  const PageStore& store = *pages_.store;
  const KvShape& shape = store.shape();
  for (int j = 0; j < kChunkKeys; ++j) {
    const int key = std::clamp(j, place.keys.first, place.keys.last - 1);
    const std::int64_t at = place.keys_before + key;
    const std::int32_t page = place.run->page(at / shape.page_size, place.kv_head);
    const auto slot = static_cast<std::int32_t>(at % shape.page_size);
    out.keys[j] = store.Key(page, layer_, place.kv_head, slot);
    out.values[j] = store.Value(page, layer_, place.kv_head, slot);
    if (!store.has_scales()) continue;
    out.key_scales[j] = store.KeyScale(page, layer_, place.kv_head, slot);
    out.value_scales[j] = store.ValueScale(page, layer_, place.kv_head, slot);
  }
  const std::int32_t tile_bytes = kTileKeys * shape.head_dim * store.number_bytes();
  for (int t = 0; t < kChunkKeys / kTileKeys; ++t) {
    out.tiles.keys[t] = keys_ + t * tile_bytes;
    out.tiles.values[t] = values_ + t * tile_bytes;
    out.tiles.key_scales[t] = key_scales_ + t * kTileKeys;
    out.tiles.value_scales[t] = value_scales_ + t * kTileKeys;
  }
}

void ChunkSource::Tile(const Chunk& chunk, const Chunk& next) const {
  if (pages_.are_tiles()) return;
  const std::int32_t bytes = pages_.store->number_bytes();
  const std::int32_t head_dim = pages_.shape().head_dim;
  for (int j = 0; j < kChunkKeys; j += kTileKeys) {
    const std::int32_t at = j * head_dim * bytes;
    TileKeys(&chunk.keys[j], &next.keys[j], head_dim, bytes, keys_ + at);
    TileValues(&chunk.values[j], &next.values[j], head_dim, bytes, values_ + at);
  }
  if (!pages_.store->has_scales()) return;
  for (int j = 0; j < kChunkKeys; ++j) {
    key_scales_[j] = *chunk.key_scales[j];
    value_scales_[j] = *chunk.value_scales[j];
  }
}

}  // namespace banyan::kernels
