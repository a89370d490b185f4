// Where pages are sealed: what queries see of their own pages, which are in f16 (sealed_kv.h).
//
// It is merged into a query's state after all chunks: the sinks that are in the page, then what the
// query's window has of it, each 64 keys at a time from the page's beginning on.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/cpu/attention_plan.h"
#include "kernels/cpu/chunk_queries.h"
#include "kernels/cpu/ops.h"
#include "kernels/cpu/sealed_kv.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

class OwnPages {
 public:
  struct Call {
    const SealedKv* kv = nullptr;
    std::int32_t layer = 0;
    std::int32_t group = 0;  // query heads per KV head
    AttentionSpan span;
    std::span<const RowRun> runs;
    const float* q = nullptr;        // as Attention::Call has it
    const float* sinks_q = nullptr;  // the same, for sinks
    std::int64_t stride = 0;
  };

  OwnPages(const Ops& ops, const Call& call) : ops_(ops), call_(call) {}

  // Of the queries of a piece in one KV head; states[row * group + head] are theirs, each
  // kPartialHeader + head_dim floats.
  void Attend(const AttentionPlan::Piece& piece, std::int32_t kv_head, float* states) const;

 private:
  using Piece = AttentionPlan::Piece;
  enum class Reads : std::uint8_t { kSinks, kWindow };

  // Rows of a piece that are in one page, and keys of that page from a slot on.
  struct Part {
    std::int64_t page = 0;
    std::int32_t first_row = 0;
    std::int32_t last_row = 0;  // one past
    std::int32_t slot = 0;
    Reads reads = Reads::kWindow;
  };
  void AttendPart(const Piece& piece, std::int32_t kv_head, const Part& part, float* states) const;
  ChunkTiles TilesOf(const Piece& piece, std::int32_t kv_head, const Part& part) const;
  ChunkKeys KeysSeen(const Piece& piece, std::int32_t row, const Part& part) const;
  std::int32_t page_size() const { return call_.kv->shape().page_size; }

  const Ops& ops_;
  const Call call_;
};

}  // namespace banyan::kernels
