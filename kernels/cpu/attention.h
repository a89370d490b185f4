// Paged causal attention: which thread attends which queries to which chunks of keys.
//
// Keys are taken in chunks of 64 by absolute position. A query's result is made of one partial per
// chunk that it sees a key of, merged in the order of the chunks (Milakov & Gimelshein, "Online
// normalizer calculation for softmax", 2018; Dao et al., "FlashAttention", 2022). Two plans do the
// same arithmetic: in the first a thread takes a block of queries through all chunks and merges as
// it goes; in the second, for few queries over many keys, threads take chunks, keep the partials,
// and merge them afterwards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/ops.h"
#include "kernels/cpu/page_store.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

class Attention {
 public:
  // Partials that the second plan may keep, in floats.
  static constexpr std::int64_t kMaxKeptFloats = std::int64_t{4} << 20;
  // Queries of one block (rows times heads of a KV head); a row's heads are never parted.
  static constexpr std::int32_t kBlockQueries = 64;

  struct Call {
    const PageStore* pages = nullptr;
    std::int32_t layer = 0;
    std::int32_t heads = 0;
    AttentionSpan span;
    std::span<const RowRun> runs;
    const float* q = nullptr;  // [rows, heads, head_dim], rows `stride` apart
    float* out = nullptr;      // the same shape
    std::int64_t stride = 0;
  };

  Attention(const Ops& ops, ThreadPool& pool) : ops_(ops), pool_(pool) {}
  void Run(const Call& call);

 private:
  // Rows of one run, for one KV head.
  struct Block {
    const RowRun* run = nullptr;
    std::int32_t first = 0;  // row within the run
    std::int32_t rows = 0;
    std::int32_t kv_head = 0;
    std::int64_t first_chunk = 0;  // that its first row sees
    std::int64_t last_chunk = 0;   // one past what its last row sees
    std::int64_t kept = 0;         // where the second plan keeps its partials

    std::int64_t position(std::int32_t i) const { return run->first_position + first + i; }
  };
  // Keys of a chunk that a query sees: first .. last - 1, none where both are equal.
  struct Seen {
    int first = 0;
    int last = 0;
    bool empty() const { return first == last; }
    bool operator==(const Seen&) const = default;
  };
  struct Item {
    std::int32_t block = 0;
    std::int64_t first_chunk = 0;
    std::int64_t last_chunk = 0;  // one past
    std::int64_t cost = 0;
  };
  struct Scratch;  // of one thread

  static Seen KeysSeen(const Call& call, std::int64_t position, std::int64_t chunk);

  enum class Plan : std::uint8_t { kBlocks, kChunks };
  Plan MakePlan(const Call& call);
  void ReserveScratch();
  Scratch ScratchOf(std::int32_t thread);
  // f(item, scratch) for all items, on threads by cost.
  template <class F>
  void ForItems(const F& f);

  ChunkHalves FindChunk(const Call& call, const Block& block, std::int64_t chunk,
                        const Scratch& scratch) const;
  void AttendChunk(const Call& call, const Block& block, std::int64_t chunk, float* partials,
                   const Scratch& scratch) const;
  void ClearStates(const Block& block, float* states) const;
  void MergeChunk(const Call& call, const Block& block, std::int64_t chunk, const float* partials,
                  float* states) const;
  void Finish(const Call& call, const Block& block, const float* states) const;

  const Ops& ops_;
  ThreadPool& pool_;

  // Of the current call.
  std::int32_t group_ = 0;  // query heads per KV head
  std::int32_t head_dim_ = 0;
  std::int32_t block_rows_ = 0;    // the most
  std::int64_t partial_size_ = 0;  // floats of one query's partial
  std::vector<Block> blocks_;
  std::vector<Item> items_;

  std::int64_t scratch_floats_ = 0;  // per thread
  Buffer scratch_;
  Buffer kept_;
};

}  // namespace banyan::kernels
