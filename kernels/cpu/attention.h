// Paged causal attention.
//
// Keys are taken in chunks of 64 by absolute position (by slot, where slots are none). A query's
// result is made of one partial per chunk that it sees a key of, merged in the order of the chunks
// (Milakov & Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al.,
// "FlashAttention", 2022), whichever thread has made it, beside whatever other queries: see
// attention_plan.h. Where a window cuts what it sees, the partial of the sinks is the first. Where
// pages are sealed what it sees of its own page, in f16, comes last: see own_pages.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/buffer.h"
#include "kernels/cpu/chunk_queries.h"
#include "kernels/cpu/chunk_source.h"
#include "kernels/cpu/ops.h"
#include "kernels/cpu/own_pages.h"
#include "kernels/cpu/sink_queries.h"
#include "kernels/cpu/thread_pool.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

class Attention {
 public:
  struct Call {
    KvPages pages;
    std::int32_t layer = 0;
    std::int32_t heads = 0;
    AttentionSpan span;
    std::span<const RowRun> runs;
    // [rows, heads, head_dim], rows `stride` apart, in the basis of the keys (SpreadsKeys).
    const float* q = nullptr;
    float* out = nullptr;  // the same shape
    std::int64_t stride = 0;
  };

  Attention(const Ops& ops, ThreadPool& pool) : ops_(ops), pool_(pool), sink_queries_(ops, pool) {}
  void Run(const Call& call);

 private:
  using Piece = AttentionPlan::Piece;
  using Item = AttentionPlan::Item;

  static constexpr std::int64_t kSinks = AttentionPlan::kSinks;

  using Keys = ChunkKeys;
  struct Scratch;  // of one thread

  // What row i of the piece sees of a chunk.
  static Keys KeysSeen(const Call& call, const Piece& piece, std::int32_t i, std::int64_t chunk);

  // What is attended in one go: pieces for which a chunk is the same keys, one of which sees some.
  struct Visit {
    std::span<const Piece> pieces;  // none: there is nothing more
    std::int32_t kv_head = 0;
    std::int64_t chunk = 0;  // or kSinks
    bool empty() const { return pieces.empty(); }
    // Before the first of its keys.
    std::int64_t keys_before() const { return chunk == kSinks ? 0 : chunk * kChunkKeys; }
  };

  void Reserve();
  Scratch ScratchOf(std::int32_t thread);
  // f(begin, end, scratch) for all items, `piece` of them at a time: threads have equal shares and
  // take of each other's when they are done, for neither items nor threads are equally quick.
  template <class F>
  void SplitItems(std::span<const Item> items, std::int64_t piece, const F& f);

  // An item's visits, chunk after chunk: none where all that its rows see is in their own pages.
  Visit FirstVisit(const Item& item) const { return FindVisit(item, item.first_chunk, 0); }
  // The first visit of items number `item` .. last, as far as there are such; moves `item` there.
  Visit FirstVisitFrom(std::size_t& item, std::size_t last) const;
  Visit VisitAfter(const Item& item, const Visit& visit) const;
  Visit FindVisit(const Item& item, std::int64_t chunk, std::int32_t piece) const;

  void Attend(const Call& call, std::size_t begin, std::size_t end, AttendInto into,
              const Scratch& scratch) const;
  void Begin(const Item& item, AttendInto into, const Scratch& scratch) const;
  void End(const Call& call, const Item& item, AttendInto into, const Scratch& scratch) const;
  void AttendTogether(const Call& call, const Visit& visit, const ChunkTiles& tiles,
                      const ChunkTiles& next, AttendInto into, const Scratch& scratch) const;
  static Keys KeysIn(const Call& call, const Visit& visit);
  void AttendOwn(const Piece& piece, std::int32_t kv_head, float* states) const {
    if (own_pages_) own_pages_->Attend(piece, kv_head, states);
  }
  void ClearStates(std::int32_t rows, float* states) const;
  void MergeKept(const Call& call, const Item& item, float* states) const;
  void Finish(const Call& call, const Piece& piece, std::int32_t kv_head,
              const float* states) const;
  // Where the partials of a piece's queries are kept.
  float* KeptAt(const Piece& piece, std::int32_t kv_head, std::int64_t chunk) const;

  const Ops& ops_;
  ThreadPool& pool_;
  SinkQueries sink_queries_;
  AttentionPlan plan_;

  // Of the current call.
  ChunkQueries::Attend attend_ = nullptr;  // to chunks
  std::optional<OwnPages> own_pages_;      // where they are read apart
  std::int32_t group_ = 0;                 // query heads per KV head
  std::int32_t head_dim_ = 0;
  std::int64_t partial_size_ = 0;   // floats of one query's partial
  const float* sinks_q_ = nullptr;  // as Call::q, for sinks; of rows that see some

  std::int64_t scratch_floats_ = 0;  // per thread
  Buffer scratch_;
  Buffer kept_;
  float* kept_floats_ = nullptr;  // in kept_
};

}  // namespace banyan::kernels
