#include "kernels/cpu/own_pages.h"

#include <algorithm>
#include <cstddef>

namespace banyan::kernels {

void OwnPages::Attend(const Piece& piece, std::int32_t kv_head, float* states) const {
  for (Part part; part.first_row < piece.rows; part.first_row = part.last_row) {
    const std::int64_t position = piece.slot(part.first_row);
    part.page = position / page_size();
    const std::int64_t left = (part.page + 1) * page_size() - position;
    part.last_row =
        static_cast<std::int32_t>(std::min<std::int64_t>(piece.rows, part.first_row + left));
    const std::int64_t first_key = part.page * page_size();
    const std::int64_t slots = piece.slot(part.last_row - 1) + 1 - first_key;
    for (const Reads reads : {Reads::kSinks, Reads::kWindow}) {
      if (reads == Reads::kSinks && piece.run->window.sinks <= first_key) continue;
      part.reads = reads;
      for (part.slot = 0; part.slot < slots; part.slot += kChunkKeys)
        AttendPart(piece, kv_head, part, states);
    }
  }
}

void OwnPages::AttendPart(const Piece& piece, std::int32_t kv_head, const Part& part,
                          float* states) const {
  const std::int32_t head_dim = call_.kv->shape().head_dim;
  const ChunkTiles tiles = TilesOf(piece, kv_head, part);
  ChunkQueries queries(ops_.kv_f16.attend, {.chunk = &tiles,
                                            .head_dim = head_dim,
                                            .scale = call_.span.scale,
                                            .queries = nullptr,
                                            .count = 0,
                                            .into = AttendInto::kStates});
  const float* q = part.reads == Reads::kSinks ? call_.sinks_q : call_.q;
  for (std::int32_t row = part.first_row; row < part.last_row; ++row) {
    const ChunkKeys seen = KeysSeen(piece, row, part);
    if (seen.empty()) continue;
    const float* heads = q + (piece.run->first_row + piece.first + row) * call_.stride +
                         std::int64_t{kv_head} * call_.group * head_dim;
    for (std::int32_t h = 0; h < call_.group; ++h) {
      queries.Add({heads + h * head_dim, seen.first, seen.last,
                   states + std::int64_t{row * call_.group + h} * (kPartialHeader + head_dim)});
    }
  }
  queries.Flush();
}

// In places behind the page is its last tile, of which nothing is seen there.
ChunkTiles OwnPages::TilesOf(const Piece& piece, std::int32_t kv_head, const Part& part) const {
  const auto run = static_cast<std::size_t>(piece.run - call_.runs.data());
  const auto [store, page, layer] = call_.kv->Own(call_.runs, run, part.page, call_.layer);
  ChunkTiles tiles = {};
  for (int t = 0; t < kChunkKeys / kTileKeys; ++t) {
    const std::int32_t slot = std::min(part.slot + t * kTileKeys, page_size() - kTileKeys);
    tiles.keys[t] = store->Key(page, layer, kv_head, slot);
    tiles.values[t] = store->Value(page, layer, kv_head, slot);
  }
  return tiles;
}

ChunkKeys OwnPages::KeysSeen(const Piece& piece, std::int32_t row, const Part& part) const {
  const RowRun& run = *piece.run;
  const std::int64_t position = piece.slot(row);
  const std::int64_t before = part.page * page_size() + part.slot;
  if (part.reads == Reads::kSinks)
    return ChunkKeys::Of(0, run.window.cuts(position) ? run.window.sinks : 0, before);
  return ChunkKeys::Of(AttentionPlan::FirstKey(call_.span.window, run, position), position + 1,
                       before);
}

}  // namespace banyan::kernels
