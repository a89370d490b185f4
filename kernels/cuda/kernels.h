// The kernels as the host calls them: every pointer is to the device's memory, every call returns
// at once and is done in the order of its stream. Matrices are row-major and without gaps.
//
// Sums have one order, which depends on the length of a row and the positions of keys alone: a
// row's result is the same bits in any batch.
#pragma once

#include <cstdint>

#include "kernels/cuda/numbers.h"
#include "kernels/cuda/pages.h"
#include "kernels/cuda/runtime.h"
#include "kernels/tensor.h"

namespace banyan::kernels::cuda {

// A vector or matrix of Half, Bf16 or floats.
struct Numbers {
  const void* data = nullptr;
  NumberType type = NumberType::kF32;
};
struct Output {
  void* data = nullptr;
  NumberType type = NumberType::kF32;
};

// x[i] = factor * row ids[i] of the table; x is [rows, cols].
void Embed(Stream stream, Numbers table, std::int64_t cols, const std::int32_t* ids,
           std::int32_t rows, float factor, float* x);

// out[i] = x[r] / sqrt(mean(x[r]^2) + eps) * weight, r = chosen[i], or i where chosen is null.
// Zhang & Sennrich, "Root mean square layer normalization", 2019.
void RmsNorm(Stream stream, const float* x, const std::int32_t* chosen, const float* weight,
             float eps, std::int32_t rows, std::int32_t cols, Output out);
// x[i] += in[i] / sqrt(mean(in[i]^2) + eps) * weight.
void RmsNormAdd(Stream stream, const float* in, const float* weight, float eps, std::int32_t rows,
                std::int32_t cols, float* x);
// In place: each of `heads` runs of head_dim values normalized as by RmsNorm.
void RmsNormHeads(Stream stream, const float* weight, float eps, std::int64_t heads,
                  std::int32_t head_dim, float* x);

// out[i] = function(gate[i]) * up[i], `count` of them.
void Gate(Stream stream, GateFunction function, const float* gate, const float* up,
          std::int64_t count, Output out);

// out[i] = which value of row i is the greatest, the first of equals; -1 where one is not finite.
void Argmax(Stream stream, const float* x, std::int32_t rows, std::int32_t cols, std::int32_t* out);

// A row's cosine and sine for every pair, [rows, pairs][2]: of the angle position * frequency,
// which is computed in double.
void RopeAngles(Stream stream, const std::int32_t* positions, const double* frequencies,
                std::int32_t rows, std::int32_t pairs, float* angles);

// Where a token's keys and values go: a page and the slot in it. Where pages are sealed it is one
// in f16, numbered as OpenView does.
struct TokenPlace {
  std::int32_t page = 0;
  std::int32_t slot = 0;
};

struct RopeStep {
  float* q = nullptr;  // [rows, heads * head_dim], turned in place
  float* k = nullptr;  // [rows, kv_heads * head_dim], likewise
  const float* v = nullptr;
  std::int32_t rows = 0;
  std::int32_t heads = 0;
  const float* angles = nullptr;  // of RopeAngles
  std::int32_t dims = 0;          // the first of a head, which are turned; 0: none
  RopePairs pairs = RopePairs::kNeighbours;
  const TokenPlace* places = nullptr;  // [rows]
};
// Turns q and k, puts both into the basis that the pages keep keys in (SpreadsKeys), and rounds k
// and v into their slots.
void RopeAndStore(Stream stream, const RopeStep& step, const KvPages& kv, std::int32_t layer);

// From a page to another; those in f16 are numbered as OpenView does.
struct PagePair {
  std::int32_t from = 0;
  std::int32_t to = 0;
};
// One layer of pages in f16 that are full, sealed.
void SealPages(Stream stream, const PagePair* full, std::int32_t count, const KvPages& kv,
               std::int32_t layer);
// One layer of open pages, copied to staged ones.
void StagePages(Stream stream, const PagePair* begun, std::int32_t count, const OpenView& open,
                std::int32_t layer);

// The first slots of a page to another page, in all layers: for copy-on-write. No page is both read
// and written, or written twice.
void CopySlots(Stream stream, const SlotCopy* copies, std::int32_t count, const PageView& pages);

// Of a step, the queries that see attention sinks at a distance (kernels/key_window.h).
struct SinkStep {
  const float* q = nullptr;  // [rows of the step, heads * head_dim], as RopeAndStore leaves them
  std::int32_t heads = 0;
  std::int32_t head_dim = 0;
  KvFormat format = KvFormat::kF16;    // of the pages
  const std::int32_t* rows = nullptr;  // those that do, `count` of them
  std::int32_t count = 0;
  const float* angles = nullptr;  // [count], of how far each is to be turned
  std::int32_t dims = 0;          // as RopeStep has it
  RopePairs pairs = RopePairs::kNeighbours;
};
// out[r] = q[r], turned by its angles, of those rows; others are left.
void TurnForSinks(Stream stream, const SinkStep& step, float* out);

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

// What a row sees: keys 0 .. sinks - 1, and oldest .. position, both counted from key 0. Pages of
// its table are where key 0's is, and `dropped_pages` before where they would be for the latter.
struct AttentionRow {
  std::int64_t first_page = 0;  // in AttentionWork::tables
  std::int64_t dropped_pages = 0;
  std::int32_t position = 0;
  std::int32_t oldest = 0;
  std::int32_t sinks = 0;  // <= KeyWindow::kMaxSinks; they are met by the query of sinks_q
  // Keys from own_first on are in no page of the table but, where pages are sealed, in own_page (of
  // OpenView); else there are none such.
  std::int32_t own_first = 0;
  std::int32_t own_page = 0;

  constexpr KeyRange Seen(AttentionReads reads) const {
    KeyRange keys{AreSinks(reads) ? 0 : oldest, AreSinks(reads) ? sinks : position + 1};
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

  std::int64_t first_page = 0;  // in the tables: where the page of key 0 is, or would be
  std::int32_t first_row = 0;   // in AttentionWork::tile_rows
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

inline constexpr std::int32_t kMaxHeadDim = 256;  // of Attend; a multiple of 8
inline constexpr std::int32_t kMaxGroup = 64;     // query heads of one KV head

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
