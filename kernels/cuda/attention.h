// Attention as the host calls it (kernels.h): who attends to what, as the device reads it.
#pragma once

#include <cstdint>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/pages.h"
#include "kernels/cuda/runtime.h"

namespace banyan::kernels::cuda {

// Which keys of a chunk an item reads: of those that its row sees through its table, or of those
// in the row's own page (AttentionRow::own_first); its window's, or its sinks.
enum class AttentionReads : std::int32_t { kWindow, kSinks, kOwnWindow, kOwnSinks };

constexpr bool IsOwn(AttentionReads reads) {
  return reads == AttentionReads::kOwnWindow || reads == AttentionReads::kOwnSinks;
}
constexpr bool AreSinks(AttentionReads reads) {
  return reads == AttentionReads::kSinks || reads == AttentionReads::kOwnSinks;
}

// Keys begin .. end - 1, counted from key 0; none where begin >= end.
struct KeyRange {
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

// What a row sees: keys 0 .. sinks - 1, and oldest .. slot, both counted from key 0. Pages of its
// table are where key 0's is, and `dropped_pages` before where they would be for the latter.
struct AttentionRow {
  std::int64_t first_page = 0;  // in AttentionWork::tables
  std::int64_t dropped_pages = 0;
  // Of its table where it has one for each KV head, one after the other: those that it chose.
  std::int64_t pages_per_head = 0;
  std::int32_t slot = 0;  // of its own key: its position, where all keys before it are there
  std::int32_t oldest = 0;
  std::int32_t sinks = 0;  // <= KeyWindow::kMaxSinks; they are met by the query of sinks_q
  // Keys from own_first on are in no page of the table but, where pages are sealed, in own_page (of
  // OpenView); else there are none such.
  std::int32_t own_first = 0;
  std::int32_t own_page = 0;

  constexpr KeyRange Seen(AttentionReads reads) const {
    KeyRange keys{AreSinks(reads) ? 0 : oldest, AreSinks(reads) ? sinks : slot + 1};
    if (IsOwn(reads)) {
      keys.begin = keys.begin > own_first ? keys.begin : own_first;
    } else {
      keys.end = keys.end < own_first ? keys.end : own_first;
    }
    return keys;
  }
};

// What a row attends to is cut into chunks of kChunkKeys keys, counted from key 0. An item is what
// it reads of one; a row's partials, one for each of its items, are merged in their order.
inline constexpr std::int32_t kChunkKeys = 256;

// Rows that read the same keys of the same pages, and attend together: to one chunk, each for an
// item, or each to all that it sees. Which rows those are changes no row's bits.
struct AttentionTile {
  static constexpr std::int32_t kMaxQueries = 64;  // its rows times the query heads of a KV head
  // Heads of more dimensions have no room for tiles that attend to more than one chunk.
  static constexpr std::int32_t kMaxWholeDims = 128;

  std::int64_t first_page = 0;      // in the tables: where the page of key 0 is, or would be
  std::int64_t pages_per_head = 0;  // as its row's, which is alone
  std::int32_t first_row = 0;       // in AttentionWork::tile_rows
  std::int32_t rows = 0;
  KeyRange some;  // what some of its rows see
  KeyRange all;   // what each of them sees
  AttentionReads reads = AttentionReads::kWindow;
  std::int32_t own_page = 0;  // where that is read, and its first key
  std::int32_t own_first = 0;
};
struct AttentionTileRow {
  static constexpr std::int32_t kWhole = -1;
  std::int32_t row = 0;
  std::int32_t item = kWhole;
};

// Tiles that are launched together: of rows' own pages or of others, large or small.
enum class TileKind : std::int32_t { kLarge, kSmall, kOwnLarge, kOwnSmall };
inline constexpr std::int32_t kTileKinds = 4;

constexpr bool IsOwn(TileKind kind) {
  return kind == TileKind::kOwnLarge || kind == TileKind::kOwnSmall;
}
// At most: a tile's rows times the query heads of a KV head.
constexpr std::int32_t QueriesOf(TileKind kind) {
  return kind == TileKind::kLarge || kind == TileKind::kOwnLarge ? 64 : 16;
}

// Rows of a step that are done at once, so that partials have a bound.
struct AttentionPart {
  std::int32_t first_row = 0;
  std::int32_t rows = 0;
  std::int32_t first_item = 0;
  std::int32_t items = 0;
  std::int32_t first_tile = 0;  // in AttentionWork::tiles; those of a kind follow those of another
  std::int32_t tiles[kTileKinds] = {};
};

// What a step attends to, the same for all its layers that have one window (attention_plan.h).
struct AttentionWork {
  const AttentionTile* tiles = nullptr;
  const AttentionTileRow* tile_rows = nullptr;
  const AttentionRow* row_keys = nullptr;    // [rows of the step]
  const std::int32_t* first_item = nullptr;  // [rows of the step + 1]
  const std::int32_t* tables = nullptr;      // page ids
};

// What a chunk is worth to a head: greatest score (of base 2), sum of weights, weighted values. Of
// the items of the part that is done.
struct AttentionPartials {
  float* greatest = nullptr;  // [items, heads]
  float* sums = nullptr;      // [items, heads]
  float* values = nullptr;    // [items, heads, head_dim]
};

// [rows of the step, heads * head_dim]
struct Queries {
  const float* q = nullptr;
  const float* sinks_q = nullptr;  // of TurnForSinks; null where no row sees sinks
  std::int32_t heads = 0;
  float scale = 1.0F;  // of the scores
};

// Attention of a part's rows over pages, by tensor cores. Queries, and weights of keys, are rounded
// to 16 bits: those of the pages, or f16. Dao, "FlashAttention-2: Faster attention with better
// parallelism and work partitioning", 2023; Dao et al., "Flash-Decoding for long-context
// inference", 2023.
void Attend(Stream stream, const Queries& queries, const AttentionWork& work,
            const AttentionPart& part, const KvPages& kv, std::int32_t layer,
            const AttentionPartials& partials, Output out);

}  // namespace banyan::kernels::cuda
