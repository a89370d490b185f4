#include "kernels/cpu/attention.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <utility>

#include "kernels/cpu/variants.h"
#include "kernels/require.h"

namespace banyan::kernels {
namespace {

// Chunks that a thread takes at a time where it keeps their partials, with all heads of each.
constexpr std::int64_t kChunksTogether = 4;

}  // namespace

struct Attention::Scratch {
  float* tiles;   // of a ChunkSource
  float* states;  // [queries of a block, partial_size]
};

Attention::Keys Attention::KeysSeen(const Call& call, const Piece& piece, std::int32_t i,
                                    std::int64_t chunk) {
  const RowRun& run = *piece.run;
  const std::int64_t slot = piece.slot(i);
  const std::int64_t end = call.pages.ChunkedKeys(slot);
  if (chunk == kSinks) {
    const std::int64_t sinks = run.window.cuts(slot) ? run.window.sinks : 0;
    return {0, static_cast<int>(std::min(sinks, end))};
  }
  return Keys::Of(AttentionPlan::FirstKey(call.span.window, run, slot), end, chunk * kChunkKeys);
}

void Attention::Run(const Call& call) {
  const KvShape& shape = call.pages.shape();
  Require(call.heads % shape.kv_heads == 0, "query heads are a multiple of KV heads");
  attend_ = call.pages.sealed != nullptr ? ops_.kv_int4.attend : KvOpsOf(ops_, shape.format).attend;
  group_ = call.heads / shape.kv_heads;
  head_dim_ = shape.head_dim;
  partial_size_ = kPartialHeader + head_dim_;
  const AttentionPlan::Kind kind = plan_.Make({.runs = call.runs,
                                               .window = call.span.window,
                                               .page_size = shape.page_size,
                                               .own = call.pages.own(),
                                               .kv_heads = shape.kv_heads,
                                               .group = group_,
                                               .partial_size = partial_size_,
                                               .threads = pool_.threads()});
  sinks_q_ = sink_queries_.Turn({.runs = call.runs,
                                 .rope = call.span.rope,
                                 .heads = call.heads,
                                 .head_dim = head_dim_,
                                 .q = call.q,
                                 .stride = call.stride,
                                 .spread = SpreadsKeys(shape.format)});
  own_pages_.reset();
  if (call.pages.sealed != nullptr) {
    own_pages_.emplace(ops_, OwnPages::Call{.kv = call.pages.sealed,
                                            .layer = call.layer,
                                            .group = group_,
                                            .span = call.span,
                                            .runs = call.runs,
                                            .q = call.q,
                                            .sinks_q = sinks_q_,
                                            .stride = call.stride});
  }
  Reserve();
  if (kind == AttentionPlan::Kind::kBlocks) {
    SplitItems(plan_.items(), 1, [&](std::size_t begin, std::size_t end, const Scratch& scratch) {
      Attend(call, begin, end, AttendInto::kStates, scratch);
    });
    return;
  }
  GrowFloats(kept_, plan_.kept_floats());
  kept_floats_ = kept_.as<float>();
  SplitItems(plan_.items(), kChunksTogether * shape.kv_heads,
             [&](std::size_t begin, std::size_t end, const Scratch& scratch) {
               Attend(call, begin, end, AttendInto::kPartials, scratch);
             });
  SplitItems(plan_.merges(), 1, [&](std::size_t begin, std::size_t end, const Scratch& scratch) {
    for (const Item& item : plan_.merges().subspan(begin, end - begin)) {
      const Piece& piece = plan_.pieces()[item.index];
      ClearStates(piece.rows, scratch.states);
      MergeKept(call, item, scratch.states);
      AttendOwn(piece, item.kv_head, scratch.states);
      Finish(call, piece, item.kv_head, scratch.states);
    }
  });
}

void Attention::Reserve() {
  const std::int64_t queries = std::int64_t{plan_.block_rows()} * group_;
  scratch_floats_ = ChunkSource::Floats(head_dim_) + queries * partial_size_;
  scratch_floats_ = (scratch_floats_ + 15) / 16 * 16;  // threads share no cache line
  GrowFloats(scratch_, scratch_floats_ * pool_.threads());
}

Attention::Scratch Attention::ScratchOf(std::int32_t thread) {
  float* at = scratch_.as<float>() + thread * scratch_floats_;
  return {at, at + ChunkSource::Floats(head_dim_)};
}

template <class F>
void Attention::SplitItems(std::span<const Item> items, std::int64_t piece, const F& f) {
  pool_.ForPieces(
      std::ssize(items), piece, [&](std::int32_t thread, std::int64_t begin, std::int64_t end) {
        f(static_cast<std::size_t>(begin), static_cast<std::size_t>(end), ScratchOf(thread));
      });
}

Attention::Visit Attention::FirstVisitFrom(std::size_t& item, std::size_t last) const {
  for (; item <= last && item < plan_.items().size(); ++item)
    if (const Visit visit = FirstVisit(plan_.items()[item]); !visit.empty()) return visit;
  return {};
}

Attention::Visit Attention::VisitAfter(const Item& item, const Visit& visit) const {
  const Piece* block = &plan_.pieces()[plan_.blocks()[item.index].first_piece];
  const auto end = std::to_address(visit.pieces.end());
  return FindVisit(item, visit.chunk, static_cast<std::int32_t>(end - block));
}

// From the `piece`th of the block on.
Attention::Visit Attention::FindVisit(const Item& item, std::int64_t chunk,
                                      std::int32_t piece) const {
  const AttentionPlan::Block& block = plan_.blocks()[item.index];
  const auto pieces =
      plan_.pieces().subspan(block.first_piece, block.last_piece - block.first_piece);
  const auto sees = [&](const Piece& p) { return p.sees(chunk); };
  for (; chunk < item.last_chunk; chunk = block.chunk_after(chunk), piece = 0) {
    const std::int64_t read = std::max<std::int64_t>(chunk, 0);
    while (piece < std::ssize(pieces)) {
      std::int32_t last = piece + 1;
      while (last < std::ssize(pieces) && pieces[last].shared_chunks > read) ++last;
      const auto together = pieces.subspan(piece, last - piece);
      if (std::ranges::any_of(together, sees)) return {together, item.kv_head, chunk};
      piece = last;
    }
  }
  return {};
}

// While a visit is computed, what the next one reads comes from memory, also where that is the next
// item's that is not of these: most likely it is this thread's too.
void Attention::Attend(const Call& call, std::size_t begin, std::size_t end, AttendInto into,
                       const Scratch& scratch) const {
  const std::span<const Item> items = plan_.items();
  const ChunkSource source(call.pages, call.layer, scratch.tiles);
  const auto find = [&](const Visit& visit, ChunkSource::Chunk& out) {
    source.Find({visit.pieces[0].run, visit.kv_head, visit.keys_before(), KeysIn(call, visit)},
                out);
  };
  ChunkSource::Chunk chunks[2];
  ChunkSource::Chunk* chunk = &chunks[0];
  ChunkSource::Chunk* next_chunk = &chunks[1];
  std::size_t at = begin;  // whose visit it is
  Visit visit = FirstVisitFrom(at, end);
  if (!visit.empty()) find(visit, *chunk);
  for (std::size_t i = begin; i < end; ++i) {
    Begin(items[i], into, scratch);
    while (at == i && !visit.empty()) {
      Visit next = VisitAfter(items[i], visit);
      if (next.empty()) next = FirstVisitFrom(++at, end);
      find(next.empty() ? visit : next, *next_chunk);
      source.Tile(*chunk, *next_chunk);
      AttendTogether(call, visit, chunk->tiles, next_chunk->tiles, into, scratch);
      visit = next;
      std::swap(chunk, next_chunk);
    }
    End(call, items[i], into, scratch);
  }
}

void Attention::Begin(const Item& item, AttendInto into, const Scratch& scratch) const {
  if (into == AttendInto::kStates) ClearStates(plan_.blocks()[item.index].rows, scratch.states);
}

void Attention::End(const Call& call, const Item& item, AttendInto into,
                    const Scratch& scratch) const {
  if (into == AttendInto::kPartials) return;
  const AttentionPlan::Block& block = plan_.blocks()[item.index];
  for (std::int32_t i = block.first_piece; i < block.last_piece; ++i) {
    const Piece& piece = plan_.pieces()[i];
    float* states = scratch.states + piece.first_query * partial_size_;
    AttendOwn(piece, item.kv_head, states);
    Finish(call, piece, item.kv_head, states);
  }
}

void Attention::AttendTogether(const Call& call, const Visit& visit, const ChunkTiles& tiles,
                               const ChunkTiles& next, AttendInto into,
                               const Scratch& scratch) const {
  ChunkQueries queries(attend_, {.chunk = &tiles,
                                 .head_dim = head_dim_,
                                 .scale = call.span.scale,
                                 .queries = nullptr,
                                 .count = 0,
                                 .into = into,
                                 .next = &next});
  const float* q = visit.chunk == kSinks ? sinks_q_ : call.q;
  for (const Piece& piece : visit.pieces) {
    if (!piece.sees(visit.chunk)) continue;
    const float* row = q + (piece.run->first_row + piece.first) * call.stride +
                       std::int64_t{visit.kv_head} * group_ * head_dim_;
    float* result = into == AttendInto::kPartials
                        ? KeptAt(piece, visit.kv_head, visit.chunk)
                        : scratch.states + piece.first_query * partial_size_;
    for (std::int32_t i = 0; i < piece.rows; ++i, row += call.stride) {
      const Keys seen = KeysSeen(call, piece, i, visit.chunk);
      for (std::int32_t h = 0; h < group_; ++h, result += partial_size_)
        if (!seen.empty()) queries.Add({row + h * head_dim_, seen.first, seen.last, result});
    }
  }
  queries.Flush();
}

// Which keys of the chunk lie in pages that the table of the visit's first run names and its rows
// see, all that are seen among them. Where there are more runs it is all: a chunk that they share
// lies in shared pages wholly, which no gap is among.
Attention::Keys Attention::KeysIn(const Call& call, const Visit& visit) {
  if (visit.chunk == kSinks) {
    Keys keys;
    for (const Piece& piece : visit.pieces)
      keys.last = std::max(keys.last, KeysSeen(call, piece, piece.rows - 1, kSinks).last);
    return keys;
  }
  const std::int32_t page_size = call.pages.shape().page_size;
  const RowRun& run = *visit.pieces[0].run;
  const auto in_chunk = [&](std::int64_t page) {
    return static_cast<int>(
        std::clamp<std::int64_t>(page * page_size - visit.keys_before(), 0, kChunkKeys));
  };
  const bool before_gap = run.dropped_pages == 0 || in_chunk(run.front_pages) == kChunkKeys;
  return {before_gap ? 0 : in_chunk(run.front_pages + run.dropped_pages),
          in_chunk((call.pages.ChunkedKeys(run.first_slot() + run.rows - 1) + page_size - 1) /
                   page_size)};
}

void Attention::ClearStates(std::int32_t rows, float* states) const {
  std::fill_n(states, rows * group_ * partial_size_, 0.0F);
  for (std::int64_t query = 0; query < std::int64_t{rows} * group_; ++query)
    states[query * partial_size_] = -std::numeric_limits<float>::infinity();
}

void Attention::MergeKept(const Call& call, const Item& item, float* states) const {
  const Piece& piece = plan_.pieces()[item.index];
  for (std::int64_t index = 0; index < piece.chunks(); ++index) {
    const std::int64_t chunk = piece.chunk(index);
    const float* kept = KeptAt(piece, item.kv_head, chunk);
    for (std::int32_t i = 0; i < piece.rows; ++i) {
      if (KeysSeen(call, piece, i, chunk).empty()) continue;
      for (std::int64_t query = i * group_; query < (i + 1) * group_; ++query)
        ops_.merge(kept + query * partial_size_, head_dim_, states + query * partial_size_);
    }
  }
}

// What one merge reads, one after the other: the chunks of a head.
float* Attention::KeptAt(const Piece& piece, std::int32_t kv_head, std::int64_t chunk) const {
  const std::int64_t before = kv_head * piece.chunks() + piece.index(chunk);
  return kept_floats_ + piece.kept + before * piece.rows * group_ * partial_size_;
}

void Attention::Finish(const Call& call, const Piece& piece, std::int32_t kv_head,
                       const float* states) const {
  for (std::int32_t i = 0; i < piece.rows; ++i) {
    float* out = call.out + (piece.run->first_row + piece.first + i) * call.stride +
                 std::int64_t{kv_head} * group_ * head_dim_;
    for (std::int32_t h = 0; h < group_; ++h)
      ops_.finish(states + (i * group_ + h) * partial_size_, head_dim_, out + h * head_dim_);
  }
}

}  // namespace banyan::kernels
