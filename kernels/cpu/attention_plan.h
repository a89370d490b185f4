// Which thread attends which queries to which chunks of keys. A plan decides who reads what when,
// and no query's arithmetic.
//
// Queries of several runs whose pages begin alike go through the chunks that they share together,
// so that those are read once (Juravsky et al., "Hydragen", 2024); where their pages part, so do
// they. A thread takes a block of queries through all chunks and merges as it goes; or, where that
// would leave threads idle (few queries, many keys), threads take chunks and keep the partials.
//
// Where windows cut what is seen (key_window.h), the sinks are a chunk of their own that comes
// before all others: keys of chunk 0, with queries of their own.
//
// Where rows read their own pages apart (OwnPage), a plan is of all others: of a row in its first
// page there may be nothing in it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/ops.h"
#include "kernels/cpu/prefix_order.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

class AttentionPlan {
 public:
  // Queries of one block (rows times heads of a KV head); a row's heads are never parted. Whole
  // register tiles; and small, so that no thread waits long for another's last block.
  static constexpr std::int32_t kBlockQueries = 48;
  // Partials that may be kept, in floats.
  static constexpr std::int64_t kMaxKeptFloats = std::int64_t{4} << 20;
  static constexpr std::int64_t kSinks = -1;  // the number of the sinks' chunk

  struct Call {
    std::span<const RowRun> runs;
    std::int64_t window = 0;  // of the layer
    std::int32_t page_size = 0;
    OwnPage own = OwnPage::kInChunks;
    std::int32_t kv_heads = 0;
    std::int32_t group = 0;         // query heads per KV head
    std::int64_t partial_size = 0;  // floats of one query's partial
    std::int32_t threads = 0;
  };

  // Rows of one run.
  struct Piece {
    const RowRun* run = nullptr;
    std::int32_t first = 0;  // row within the run
    std::int32_t rows = 0;
    std::int32_t first_query = 0;    // within its block
    std::int64_t shared_chunks = 0;  // that lie in pages shared with the piece before in its block
    bool sees_sinks = false;         // its last row does
    std::int64_t first_chunk = 0;    // that its first row sees, but for sinks
    std::int64_t last_chunk = 0;  // one past what its last row sees; the first where that is none
    std::int64_t kept = 0;        // where its partials are kept, in floats

    // Of row i, which is its position too where there is a window.
    std::int64_t slot(std::int32_t i) const { return run->first_slot() + first + i; }
    // Its chunks in the order in which they are merged.
    std::int64_t chunks() const { return first_index() + last_chunk - first_chunk; }
    std::int64_t chunk(std::int64_t index) const {
      return index < first_index() ? kSinks : first_chunk + index - first_index();
    }
    std::int64_t index(std::int64_t chunk) const {
      return chunk == kSinks ? 0 : first_index() + chunk - first_chunk;
    }
    bool sees(std::int64_t chunk) const {
      return chunk == kSinks ? sees_sinks : first_chunk <= chunk && chunk < last_chunk;
    }

   private:
    std::int64_t first_index() const { return sees_sinks ? 1 : 0; }
  };
  // Pieces of runs with a common prefix, one after the other in their order. Between the first and
  // the last of its chunks is none that no piece sees, however far apart their windows are.
  struct Block {
    std::int32_t first_piece = 0;
    std::int32_t last_piece = 0;  // one past
    std::int32_t rows = 0;
    bool sees_sinks = false;       // a piece does
    std::int64_t first_chunk = 0;  // the least and the greatest of its pieces
    std::int64_t last_chunk = 0;

    std::int64_t chunk_after(std::int64_t chunk) const {
      return chunk == kSinks ? first_chunk : chunk + 1;
    }
  };
  // What a thread does in one go, for one KV head.
  struct Item {
    std::int32_t index = 0;
    std::int32_t kv_head = 0;
    std::int64_t first_chunk = 0;  // of a block, maybe the sinks
    std::int64_t last_chunk = 0;   // one past
    std::int64_t cost = 0;         // about the time, in a unit of all items of a list
  };
  enum class Kind : std::uint8_t { kBlocks, kChunks };

  Kind Make(const Call& call);

  std::span<const Piece> pieces() const { return pieces_; }
  std::span<const Block> blocks() const { return blocks_; }
  // Of blocks: all their chunks, or one, by kind.
  std::span<const Item> items() const { return items_; }
  // Of pieces, all their chunks: where partials were kept, these merge them.
  std::span<const Item> merges() const { return merges_; }
  std::int64_t kept_floats() const { return kept_; }
  std::int32_t block_rows() const { return block_rows_; }  // the most

  // Of what the run's query in `slot` sees in a layer with that window, but for sinks.
  static std::int64_t FirstKey(std::int64_t window, const RowRun& run, std::int64_t slot) {
    if (window == 0) return run.window.first_key(slot);
    return window > slot ? 0 : slot + 1 - window;
  }

 private:
  static std::int64_t KeysSeen(const Call& call, const Piece& piece);
  static void SetChunks(const Call& call, Piece& piece);
  void CutBlocks(const Call& call, std::int32_t max_rows);
  void AddPiece(const Call& call, Piece piece);
  void ListBlocks(const Call& call);
  void ListChunks(const Call& call);
  void ListChunk(const Call& call, std::int32_t block, std::int64_t chunk, std::int64_t queries);
  void ListMerges(const Call& call);

  PrefixOrder prefixes_;
  std::vector<Piece> pieces_;
  std::vector<Block> blocks_;
  std::vector<Item> items_;
  std::vector<Item> merges_;
  std::vector<std::int64_t> loads_;  // queries by chunk of a block
  std::int64_t kept_ = 0;
  std::int32_t block_rows_ = 0;
};

}  // namespace banyan::kernels
