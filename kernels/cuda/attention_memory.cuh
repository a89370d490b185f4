// What a block that attends has in shared memory: the queries of a tile, and keys and values of its
// pages, kKeys at a time and two such blocks of keys in turns.
#pragma once

#include <type_traits>

#include "kernels/cuda/attend.h"
#include "kernels/cuda/attention.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/reduce.cuh"

namespace banyan::kernels::cuda {

inline constexpr int kWarpQueries = 16;  // of a tile
inline constexpr int kMaxAttendThreads = AttentionTile::kMaxQueries / kWarpQueries * kWarp;

// What numbers of a format are multiplied as.
template <KvFormat kFormat>
using ProductType = std::conditional_t<kFormat == KvFormat::kBf16, Bf16, Half>;

// Where the block's memory has what. Rows are padded, so that eight of them lie in different banks.
template <KvFormat kFormat, int kDims>
struct AttentionMemory {
  static constexpr bool kHasPlacesBeside =
      kFormat == KvFormat::kInt8 || kFormat == KvFormat::kInt4;  // ScalePlace
  static constexpr int kKeys = kDims > 128 ? 16 : 32;            // at once
  static constexpr int kRow = kDims + 8;                         // of queries, keys and values
  static constexpr int kValuesAt = kKeys * kRow * 2;             // in a block of keys
  static constexpr int kScalesAt = 2 * kValuesAt;
  static constexpr int kBlockBytes = kScalesAt + 2 * kKeys * 4;
  static constexpr int kPlacesAt = 2 * kBlockBytes;
  static constexpr int kPlacesBesideAt = kPlacesAt + kChunkKeys * 8;
  static constexpr int kQueriesAt = kPlacesBesideAt + (kHasPlacesBeside ? kChunkKeys * 8 : 0);
  static constexpr int Bytes(int queries) { return kQueriesAt + queries * kRow * 2; }

  Shared<std::uint16_t> queries = DynamicShared<std::uint16_t>(kQueriesAt);  // [queries][kRow]
  // Of each key of the chunk.
  Shared<std::int64_t> places = DynamicShared<std::int64_t>(kPlacesAt);
  Shared<std::int64_t> places_beside = DynamicShared<std::int64_t>(kPlacesBesideAt);
};

// One of the two blocks of keys.
template <class Memory>
struct KeyBlock {
  __device__ explicit KeyBlock(int which)
      : keys(DynamicShared<std::uint16_t>(which * Memory::kBlockBytes)),
        values(DynamicShared<std::uint16_t>(which * Memory::kBlockBytes + Memory::kValuesAt)),
        scales(DynamicShared<float>(which * Memory::kBlockBytes + Memory::kScalesAt)) {}

  Shared<std::uint16_t> keys;    // [kKeys][kRow]
  Shared<std::uint16_t> values;  // likewise
  Shared<float> scales;          // of int8: [kKeys] of keys, [kKeys] of values
};

// What a block has to do.
struct AttentionTask {
  AttentionTile tile;
  const std::byte* memory;  // of the pages, or of what the own page has of the layer
  int kv_head;
  int group;    // query heads of a KV head
  int queries;  // of the tile

  // Of query n: its row, and which head of it.
  __device__ AttentionTileRow RowOf(const AttendArguments& a, int n) const {
    return a.work.tile_rows[tile.first_row + n / group];
  }
  __device__ int HeadOf(int n) const { return kv_head * group + n % group; }
};

__device__ __forceinline__ AttentionTask FindTask(const AttendArguments& a) {
  AttentionTask task;
  task.tile = a.work.tiles[a.first_tile + blockIdx.x];
  task.memory =
      IsOwn(task.tile.reads) ? a.open.LayerOf(task.tile.own_page, a.layer) : a.pages.memory;
  task.kv_head = static_cast<int>(blockIdx.y);
  task.group = a.queries.heads / a.pages.kv_heads;
  task.queries = task.tile.rows * task.group;
  return task;
}

}  // namespace banyan::kernels::cuda
