#include "kernels/cpu/attention_plan.h"

#include <algorithm>

namespace banyan::kernels {
namespace {

// What reading a chunk costs, in queries attended to it.
constexpr std::int64_t kReadCost = 2;
// Whole blocks are for threads where each has about so many.
constexpr std::int64_t kBlocksPerThread = 4;

}  // namespace

AttentionPlan::Kind AttentionPlan::Make(const Call& call) {
  block_rows_ = std::max(1, kBlockQueries / call.group);
  CutBlocks(call, block_rows_);
  ListBlocks(call);
  merges_.clear();
  if (call.threads == 1) return Kind::kBlocks;
  std::int64_t total = 0;
  std::int64_t largest = 0;
  for (const Item& item : items_) {
    total += item.cost;
    largest = std::max(largest, item.cost);
  }
  if (largest * kBlocksPerThread * call.threads <= total) return Kind::kBlocks;
  if (kept_ <= kMaxKeptFloats) {
    ListChunks(call);
    ListMerges(call);
    return Kind::kChunks;
  }
  std::int64_t rows = 0;
  for (const RowRun& run : call.runs) rows += run.rows;
  const std::int64_t fair = rows * call.kv_heads / (kBlocksPerThread * call.threads);
  CutBlocks(call, static_cast<std::int32_t>(std::clamp<std::int64_t>(fair, 1, block_rows_)));
  ListBlocks(call);
  return Kind::kBlocks;
}

void AttentionPlan::CutBlocks(const Call& call, std::int32_t max_rows) {
  pieces_.clear();
  blocks_.clear();
  kept_ = 0;
  for (const PrefixOrder::Place& place : prefixes_.Of(call.runs, call.page_size, call.own)) {
    const RowRun& run = call.runs[static_cast<std::size_t>(place.run)];
    std::int64_t shared_chunks = place.shared_keys / kChunkKeys;
    for (std::int32_t first = 0; first < run.rows;) {
      const bool alone = blocks_.empty() || shared_chunks == 0 || blocks_.back().rows == max_rows;
      const std::int32_t most = alone ? max_rows : max_rows - blocks_.back().rows;
      Piece piece = {.run = &run,
                     .first = first,
                     .rows = std::min(most, run.rows - first),
                     .shared_chunks = shared_chunks};
      SetChunks(call, piece);
      if (alone || piece.last_chunk < blocks_.back().first_chunk ||
          blocks_.back().last_chunk < piece.first_chunk) {
        const auto end = static_cast<std::int32_t>(pieces_.size());
        blocks_.push_back({.first_piece = end,
                           .last_piece = end,
                           .first_chunk = piece.first_chunk,
                           .last_chunk = piece.last_chunk});
        piece.shared_chunks = 0;
      }
      shared_chunks = 0;  // the next rows of the run begin a block
      AddPiece(call, piece);
      first += piece.rows;
    }
  }
}

void AttentionPlan::SetChunks(const Call& call, Piece& piece) {
  const std::int64_t last = piece.slot(piece.rows - 1);
  const std::int64_t first_key = FirstKey(call.window, *piece.run, piece.slot(0));
  const std::int64_t end = ChunkedKeys(call.own, call.page_size, last);
  piece.sees_sinks = piece.run->window.sinks > 0 && piece.run->window.cuts(last) && end > 0;
  piece.first_chunk = first_key / kChunkKeys;
  piece.last_chunk = first_key < end ? (end - 1) / kChunkKeys + 1 : piece.first_chunk;
}

void AttentionPlan::AddPiece(const Call& call, Piece piece) {
  Block& block = blocks_.back();
  piece.first_query = block.rows * call.group;
  piece.kept = kept_;
  kept_ += piece.chunks() * call.kv_heads * piece.rows * call.group * call.partial_size;
  block.sees_sinks = block.sees_sinks || piece.sees_sinks;
  block.first_chunk = std::min(block.first_chunk, piece.first_chunk);
  block.last_chunk = std::max(block.last_chunk, piece.last_chunk);
  block.rows += piece.rows;
  ++block.last_piece;
  pieces_.push_back(piece);
}

// About the sum of the keys that its rows see.
std::int64_t AttentionPlan::KeysSeen(const Call& call, const Piece& piece) {
  const auto keys = [&](std::int64_t slot) {
    const KeyWindow& window = piece.run->window;
    return slot + 1 - FirstKey(call.window, *piece.run, slot) +
           (window.cuts(slot) ? window.sinks : 0);
  };
  return piece.rows * (keys(piece.slot(0)) + keys(piece.slot(piece.rows - 1))) / 2;
}

// Blocks of one KV head follow each other: they may read the same keys.
void AttentionPlan::ListBlocks(const Call& call) {
  items_.clear();
  for (std::int32_t kv_head = 0; kv_head < call.kv_heads; ++kv_head) {
    for (std::int32_t i = 0; i < std::ssize(blocks_); ++i) {
      const Block& block = blocks_[static_cast<std::size_t>(i)];
      Item item = {i, kv_head, block.sees_sinks ? kSinks : block.first_chunk, block.last_chunk, 0};
      for (std::int32_t p = block.first_piece; p < block.last_piece; ++p) {
        const Piece& piece = pieces_[static_cast<std::size_t>(p)];
        item.cost += piece.chunks() * kReadCost * kChunkKeys + KeysSeen(call, piece) * call.group;
      }
      items_.push_back(item);
    }
  }
}

// Chunk after chunk, all heads of each: what lies beside each other in a page is read together.
void AttentionPlan::ListChunks(const Call& call) {
  items_.clear();
  for (std::int32_t i = 0; i < std::ssize(blocks_); ++i) {
    const Block& block = blocks_[static_cast<std::size_t>(i)];
    const auto index = [&](std::int64_t chunk) {
      return static_cast<std::size_t>(chunk - block.first_chunk);
    };
    loads_.assign(index(block.last_chunk) + 1, 0);
    std::int64_t to_sinks = 0;
    for (std::int32_t p = block.first_piece; p < block.last_piece; ++p) {
      const Piece& piece = pieces_[static_cast<std::size_t>(p)];
      const std::int64_t queries = std::int64_t{piece.rows} * call.group;
      if (piece.sees_sinks) to_sinks += queries;
      loads_[index(piece.first_chunk)] += queries;
      loads_[index(piece.last_chunk)] -= queries;
    }
    if (block.sees_sinks) ListChunk(call, i, kSinks, to_sinks);
    std::int64_t queries = 0;
    for (std::int64_t chunk = block.first_chunk; chunk < block.last_chunk; ++chunk) {
      queries += loads_[index(chunk)];
      ListChunk(call, i, chunk, queries);
    }
  }
}

void AttentionPlan::ListChunk(const Call& call, std::int32_t block, std::int64_t chunk,
                              std::int64_t queries) {
  for (std::int32_t kv_head = 0; kv_head < call.kv_heads; ++kv_head)
    items_.push_back({block, kv_head, chunk, chunk + 1, kReadCost + queries});
}

void AttentionPlan::ListMerges(const Call& call) {
  for (std::int32_t i = 0; i < std::ssize(pieces_); ++i) {
    const Piece& piece = pieces_[static_cast<std::size_t>(i)];
    for (std::int32_t kv_head = 0; kv_head < call.kv_heads; ++kv_head)
      merges_.push_back({.index = i, .kv_head = kv_head, .cost = piece.chunks() * piece.rows});
  }
}

}  // namespace banyan::kernels
