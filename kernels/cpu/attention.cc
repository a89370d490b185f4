#include "kernels/cpu/attention.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/require.h"

namespace banyan::kernels {
namespace {

// Queries that one call of `attend` is given at most.
constexpr int kMaxTogether = 64;

void Grow(Buffer& buffer, std::int64_t floats) {
  const auto bytes = static_cast<std::size_t>(floats) * sizeof(float);
  if (buffer.size() >= bytes) return;
  buffer = Buffer();
  buffer = Buffer::MapOrThrow(bytes);
}

void PrefetchBytes(const void* at, std::int64_t bytes) {
  constexpr std::int64_t kLine = 64;
  for (std::int64_t i = 0; i < bytes; i += kLine)
    __builtin_prefetch(static_cast<const std::byte*>(at) + i, 0, 2);  // to read, second level
}

}  // namespace

struct Attention::Scratch {
  std::uint16_t* keys;  // [kChunkKeys / kTileKeys, head_dim, kTileKeys]
  float* partials;      // [kMaxTogether, partial_size]
  float* states;        // [queries of a block, partial_size]
};

Attention::Seen Attention::KeysSeen(const Call& call, std::int64_t position, std::int64_t chunk) {
  const std::int64_t before = chunk * kChunkKeys;
  const auto in_chunk = [&](std::int64_t key) {
    return static_cast<int>(std::clamp<std::int64_t>(key - before, 0, kChunkKeys));
  };
  return {in_chunk(AttentionPlan::FirstKey(call.span.window, position)), in_chunk(position + 1)};
}

void Attention::Run(const Call& call) {
  const KvShape& shape = call.pages->shape();
  Require(call.heads % shape.kv_heads == 0, "query heads are a multiple of KV heads");
  kv_heads_ = shape.kv_heads;
  group_ = call.heads / shape.kv_heads;
  head_dim_ = shape.head_dim;
  partial_size_ = kPartialHeader + head_dim_;
  const AttentionPlan::Kind kind = plan_.Make({.runs = call.runs,
                                               .window = call.span.window,
                                               .page_size = shape.page_size,
                                               .kv_heads = kv_heads_,
                                               .group = group_,
                                               .partial_size = partial_size_,
                                               .threads = pool_.threads()});
  Reserve();
  if (kind == AttentionPlan::Kind::kBlocks) {
    ForItems(plan_.items(), [&](const Item& item, const Scratch& scratch) {
      const AttentionPlan::Block& block = plan_.blocks()[item.index];
      ClearStates(block.rows, scratch.states);
      AttendBlock(call, item, Results::kMerge, scratch);
      for (std::int32_t i = block.first_piece; i < block.last_piece; ++i) {
        const Piece& piece = plan_.pieces()[i];
        Finish(call, piece, item.kv_head, scratch.states + piece.first_query * partial_size_);
      }
    });
    return;
  }
  Grow(kept_, plan_.kept_floats());
  kept_floats_ = kept_.as<float>();
  ForItems(plan_.items(), [&](const Item& item, const Scratch& scratch) {
    AttendBlock(call, item, Results::kKeep, scratch);
  });
  ForItems(plan_.merges(), [&](const Item& item, const Scratch& scratch) {
    const Piece& piece = plan_.pieces()[item.index];
    ClearStates(piece.rows, scratch.states);
    MergeKept(call, item, scratch.states);
    Finish(call, piece, item.kv_head, scratch.states);
  });
}

void Attention::Reserve() {
  const std::int64_t queries = std::int64_t{plan_.block_rows()} * group_;
  scratch_floats_ =
      std::int64_t{head_dim_} * kChunkKeys / 2 + (kMaxTogether + queries) * partial_size_;
  scratch_floats_ = (scratch_floats_ + 15) / 16 * 16;  // threads share no cache line
  Grow(scratch_, scratch_floats_ * pool_.threads());
}

Attention::Scratch Attention::ScratchOf(std::int32_t thread) {
  float* at = scratch_.as<float>() + thread * scratch_floats_;
  float* partials = at + std::int64_t{head_dim_} * kChunkKeys / 2;
  return {reinterpret_cast<std::uint16_t*>(at), partials, partials + kMaxTogether * partial_size_};
}

template <class F>
void Attention::ForItems(std::span<const Item> items, const F& f) {
  std::int64_t total = 0;
  for (const Item& item : items) total += item.cost;
  pool_.Run([&](std::int32_t thread) {
    const Scratch scratch = ScratchOf(thread);
    std::int64_t before = 0;
    for (const Item& item : items) {
      if (before * pool_.threads() / total == thread) f(item, scratch);
      before += item.cost;
    }
  });
}

void Attention::AttendBlock(const Call& call, const Item& item, Results results,
                            const Scratch& scratch) const {
  const AttentionPlan::Block& block = plan_.blocks()[item.index];
  for (std::int64_t chunk = item.first_chunk; chunk < item.last_chunk; ++chunk) {
    for (std::int32_t first = block.first_piece; first < block.last_piece;) {
      std::int32_t last = first + 1;
      while (last < block.last_piece && plan_.pieces()[last].shared_chunks > chunk) ++last;
      AttendTogether(call, plan_.pieces().subspan(first, last - first), item.kv_head, chunk,
                     results, scratch);
      first = last;
    }
  }
}

// The queries of pieces for which the chunk is the same keys: of one piece, or of several that
// share the pages it lies in.
void Attention::AttendTogether(const Call& call, std::span<const Piece> pieces,
                               std::int32_t kv_head, std::int64_t chunk, Results results,
                               const Scratch& scratch) const {
  const auto sees = [&](const Piece& piece) {
    return piece.first_chunk <= chunk && chunk < piece.last_chunk;
  };
  if (std::ranges::none_of(pieces, sees)) return;
  const ChunkHalves halves = FindChunk(call, pieces[0], kv_head, chunk, scratch);
  Prefetch(call, pieces[0], kv_head, chunk + 1);
  std::array<const float*, kMaxTogether> queries;
  std::array<float*, kMaxTogether> partials;
  std::array<float*, kMaxTogether> states;
  int count = 0;
  Seen keys;
  const auto flush = [&] {
    if (count == 0) return;
    ops_.attend({.chunk = &halves,
                 .first = keys.first,
                 .last = keys.last,
                 .head_dim = head_dim_,
                 .scale = call.span.scale,
                 .queries = queries.data(),
                 .count = count,
                 .partials = partials.data()});
    if (results == Results::kMerge)
      for (int i = 0; i < count; ++i) ops_.merge(partials[i], head_dim_, states[i]);
    count = 0;
  };
  for (const Piece& piece : pieces) {
    if (!sees(piece)) continue;
    const float* row = call.q + (piece.run->first_row + piece.first) * call.stride +
                       std::int64_t{kv_head} * group_ * head_dim_;
    float* kept = results == Results::kKeep ? KeptAt(piece, kv_head, chunk) : nullptr;
    float* state = scratch.states + piece.first_query * partial_size_;
    for (std::int32_t i = 0; i < piece.rows; ++i, row += call.stride) {
      // Queries that see the same keys go together: a value that a query does not see must not
      // enter its sums, not even times zero.
      const Seen seen = KeysSeen(call, piece.position(i), chunk);
      if (seen.empty()) continue;
      if (seen != keys) flush();
      keys = seen;
      for (std::int64_t query = i * group_; query < (i + 1) * group_; ++query) {
        queries[count] = row + query % group_ * head_dim_;
        partials[count] = results == Results::kKeep ? kept + query * partial_size_
                                                    : scratch.partials + count * partial_size_;
        states[count] = state + query * partial_size_;
        if (++count == kMaxTogether) flush();
      }
    }
  }
  flush();
}

// The keys of a chunk in pages that the piece's run sees keys of.
ChunkHalves Attention::FindChunk(const Call& call, const Piece& piece, std::int32_t kv_head,
                                 std::int64_t chunk, const Scratch& scratch) const {
  const PageStore& pages = *call.pages;
  const std::int32_t page_size = pages.shape().page_size;
  const std::int64_t first = chunk * kChunkKeys;
  const std::int64_t pages_seen = (piece.run->first_position + piece.run->rows - 1) / page_size + 1;
  const auto keys =
      static_cast<int>(std::min<std::int64_t>(kChunkKeys, pages_seen * page_size - first));
  ChunkHalves out;
  for (int j = 0; j < keys;) {
    const std::int32_t page = piece.run->pages[static_cast<std::size_t>((first + j) / page_size)];
    const auto slot = static_cast<std::int32_t>((first + j) % page_size);
    const std::uint16_t* key = pages.Key(page, call.layer, kv_head, slot);
    const std::uint16_t* value = pages.Value(page, call.layer, kv_head, slot);
    const int end = std::min(keys, j + page_size - slot);
    if (pages.key_stride() == kTileKeys) {
      for (int i = j; i < end; i += kTileKeys, key += kTileKeys * head_dim_)
        out.keys[i / kTileKeys] = key;
    } else {
      for (int i = j; i < end; ++i)
        for (std::int32_t d = 0; d < head_dim_; ++d)
          scratch.keys[(i / kTileKeys * head_dim_ + d) * kTileKeys + i % kTileKeys] = *key++;
    }
    for (; j < end; ++j, value += head_dim_) out.values[j] = value;
  }
  if (pages.key_stride() != kTileKeys)
    for (int t = 0; t < kChunkKeys / kTileKeys; ++t)
      out.keys[t] = scratch.keys + t * head_dim_ * kTileKeys;
  return out;
}

void Attention::Prefetch(const Call& call, const Piece& piece, std::int32_t kv_head,
                         std::int64_t chunk) const {
  if (chunk >= piece.last_chunk) return;
  const PageStore& pages = *call.pages;
  const std::int32_t page_size = pages.shape().page_size;
  const std::int64_t last = std::min((chunk + 1) * kChunkKeys, piece.position(piece.rows));
  for (std::int64_t key = chunk * kChunkKeys; key < last;) {
    const std::int32_t page = piece.run->pages[static_cast<std::size_t>(key / page_size)];
    const auto slot = static_cast<std::int32_t>(key % page_size);
    const std::int64_t slots = std::min<std::int64_t>(page_size - slot, last - key);
    const std::int64_t bytes = slots * head_dim_ * std::int64_t{sizeof(std::uint16_t)};
    PrefetchBytes(pages.Key(page, call.layer, kv_head, slot), bytes);
    PrefetchBytes(pages.Value(page, call.layer, kv_head, slot), bytes);
    key += slots;
  }
}

void Attention::ClearStates(std::int32_t rows, float* states) const {
  std::fill_n(states, rows * group_ * partial_size_, 0.0F);
  for (std::int64_t query = 0; query < std::int64_t{rows} * group_; ++query)
    states[query * partial_size_] = -std::numeric_limits<float>::infinity();
}

void Attention::MergeKept(const Call& call, const Item& item, float* states) const {
  const Piece& piece = plan_.pieces()[item.index];
  for (std::int64_t chunk = item.first_chunk; chunk < item.last_chunk; ++chunk) {
    const float* kept = KeptAt(piece, item.kv_head, chunk);
    for (std::int32_t i = 0; i < piece.rows; ++i) {
      if (KeysSeen(call, piece.position(i), chunk).empty()) continue;
      for (std::int64_t query = i * group_; query < (i + 1) * group_; ++query)
        ops_.merge(kept + query * partial_size_, head_dim_, states + query * partial_size_);
    }
  }
}

float* Attention::KeptAt(const Piece& piece, std::int32_t kv_head, std::int64_t chunk) const {
  const std::int64_t before = (chunk - piece.first_chunk) * kv_heads_ + kv_head;
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
