#include "kernels/cpu/attention.h"

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/require.h"

namespace banyan::kernels {
namespace {

// What widening a chunk costs, in queries attended to it.
constexpr std::int64_t kWidenCost = 4;

// The first key that the query at `position` sees.
std::int64_t FirstKey(const AttentionSpan& span, std::int64_t position) {
  if (span.window == 0 || span.window > position) return 0;
  return position + 1 - span.window;
}

void Grow(Buffer& buffer, std::int64_t floats) {
  const auto bytes = static_cast<std::size_t>(floats) * sizeof(float);
  if (buffer.size() >= bytes) return;
  buffer = Buffer();
  buffer = Buffer::MapOrThrow(bytes);
}

}  // namespace

struct Attention::Scratch {
  std::uint16_t* keys;  // [kChunkKeys / kTileKeys, head_dim, kTileKeys]
  float* partials;      // [queries, partial_size]
  float* states;        // [queries, partial_size]
};

Attention::Seen Attention::KeysSeen(const Call& call, std::int64_t position, std::int64_t chunk) {
  const std::int64_t before = chunk * kChunkKeys;
  const auto in_chunk = [&](std::int64_t key) {
    return static_cast<int>(std::clamp<std::int64_t>(key - before, 0, kChunkKeys));
  };
  return {in_chunk(FirstKey(call.span, position)), in_chunk(position + 1)};
}

void Attention::Run(const Call& call) {
  const KvShape& shape = call.pages->shape();
  Require(call.heads % shape.kv_heads == 0, "query heads are a multiple of KV heads");
  group_ = call.heads / shape.kv_heads;
  head_dim_ = shape.head_dim;
  block_rows_ = std::max(1, kBlockQueries / group_);
  partial_size_ = kPartialHeader + head_dim_;
  const Plan plan = MakePlan(call);
  ReserveScratch();

  if (plan == Plan::kBlocks) {
    ForItems([&](const Item& item, const Scratch& scratch) {
      const Block& block = blocks_[item.block];
      ClearStates(block, scratch.states);
      for (std::int64_t chunk = block.first_chunk; chunk < block.last_chunk; ++chunk) {
        AttendChunk(call, block, chunk, scratch.partials, scratch);
        MergeChunk(call, block, chunk, scratch.partials, scratch.states);
      }
      Finish(call, block, scratch.states);
    });
    return;
  }

  float* kept = kept_.as<float>();
  const auto kept_chunk = [&](const Block& block, std::int64_t chunk) {
    return kept + block.kept + (chunk - block.first_chunk) * block.rows * group_ * partial_size_;
  };
  ForItems([&](const Item& item, const Scratch& scratch) {
    const Block& block = blocks_[item.block];
    for (std::int64_t chunk = item.first_chunk; chunk < item.last_chunk; ++chunk) {
      AttendChunk(call, block, chunk, kept_chunk(block, chunk), scratch);
    }
  });
  pool_.Run([&](std::int32_t thread) {
    const Share share = ShareOf(std::ssize(blocks_), thread, pool_.threads());
    float* states = ScratchOf(thread).states;
    for (std::int64_t i = share.begin; i < share.end; ++i) {
      const Block& block = blocks_[i];
      ClearStates(block, states);
      for (std::int64_t chunk = block.first_chunk; chunk < block.last_chunk; ++chunk)
        MergeChunk(call, block, chunk, kept_chunk(block, chunk), states);
      Finish(call, block, states);
    }
  });
}

Attention::Plan Attention::MakePlan(const Call& call) {
  blocks_.clear();
  items_.clear();
  std::int64_t kept = 0;
  std::int64_t total = 0;
  std::int64_t largest = 0;
  for (const RowRun& run : call.runs) {
    for (std::int32_t first = 0; first < run.rows; first += block_rows_) {
      const std::int32_t rows = std::min(block_rows_, run.rows - first);
      const std::int64_t first_position = run.first_position + first;
      const std::int64_t first_chunk = FirstKey(call.span, first_position) / kChunkKeys;
      const std::int64_t last_chunk = (first_position + rows - 1) / kChunkKeys + 1;
      const std::int64_t chunks = last_chunk - first_chunk;
      const std::int64_t cost = chunks * (kWidenCost + rows * group_);
      for (std::int32_t kv_head = 0; kv_head < call.pages->shape().kv_heads; ++kv_head) {
        items_.push_back(
            {static_cast<std::int32_t>(blocks_.size()), first_chunk, last_chunk, cost});
        blocks_.push_back({&run, first, rows, kv_head, first_chunk, last_chunk, kept});
        kept += chunks * rows * group_ * partial_size_;
        total += cost;
        largest = std::max(largest, cost);
      }
    }
  }
  // Whole blocks would leave threads idle when one is large beside a thread's share.
  if (pool_.threads() == 1 || kept > kMaxKeptFloats || largest * 4 * pool_.threads() <= total)
    return Plan::kBlocks;
  Grow(kept_, kept);
  items_.clear();
  for (std::int32_t i = 0; i < std::ssize(blocks_); ++i) {
    const Block& block = blocks_[i];
    for (std::int64_t chunk = block.first_chunk; chunk < block.last_chunk; ++chunk)
      items_.push_back({i, chunk, chunk + 1, kWidenCost + block.rows * group_});
  }
  return Plan::kChunks;
}

void Attention::ReserveScratch() {
  const std::int64_t queries = std::int64_t{block_rows_} * group_;
  scratch_floats_ = std::int64_t{head_dim_} * kChunkKeys / 2 + 2 * queries * partial_size_;
  scratch_floats_ = (scratch_floats_ + 15) / 16 * 16;  // threads share no cache line
  Grow(scratch_, scratch_floats_ * pool_.threads());
}

Attention::Scratch Attention::ScratchOf(std::int32_t thread) {
  float* at = scratch_.as<float>() + thread * scratch_floats_;
  float* partials = at + std::int64_t{head_dim_} * kChunkKeys / 2;
  return {reinterpret_cast<std::uint16_t*>(at), partials,
          partials + std::int64_t{block_rows_} * group_ * partial_size_};
}

template <class F>
void Attention::ForItems(const F& f) {
  std::int64_t total = 0;
  for (const Item& item : items_) total += item.cost;
  pool_.Run([&](std::int32_t thread) {
    const Scratch scratch = ScratchOf(thread);
    std::int64_t before = 0;
    for (const Item& item : items_) {
      if (before * pool_.threads() / total == thread) f(item, scratch);
      before += item.cost;
    }
  });
}

ChunkHalves Attention::FindChunk(const Call& call, const Block& block, std::int64_t chunk,
                                 const Scratch& scratch) const {
  const PageStore& pages = *call.pages;
  const std::int32_t page_size = pages.shape().page_size;
  const int keys = KeysSeen(call, block.position(block.rows - 1), chunk).last;
  ChunkHalves out;
  for (int j = 0; j < keys;) {
    const std::int64_t position = chunk * kChunkKeys + j;
    const std::int32_t page = block.run->pages[static_cast<std::size_t>(position / page_size)];
    const auto slot = static_cast<std::int32_t>(position % page_size);
    const std::uint16_t* key = pages.Key(page, call.layer, block.kv_head, slot);
    const std::uint16_t* value = pages.Value(page, call.layer, block.kv_head, slot);
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

void Attention::AttendChunk(const Call& call, const Block& block, std::int64_t chunk,
                            float* partials, const Scratch& scratch) const {
  const ChunkHalves halves = FindChunk(call, block, chunk, scratch);
  std::array<const float*, kBlockQueries> queries;
  std::array<float*, kBlockQueries> results;
  const float* first = call.q + (block.run->first_row + block.first) * call.stride +
                       std::int64_t{block.kv_head} * group_ * head_dim_;
  for (std::int32_t i = 0; i < block.rows;) {
    // Queries that see the same keys go together: a value that a query does not see must not enter
    // its sums, not even times zero.
    const Seen keys = KeysSeen(call, block.position(i), chunk);
    std::int32_t end = i + 1;
    while (end < block.rows && KeysSeen(call, block.position(end), chunk) == keys) ++end;
    int count = 0;
    const auto flush = [&] {
      ops_.attend({.chunk = &halves,
                   .first = keys.first,
                   .last = keys.last,
                   .head_dim = head_dim_,
                   .scale = call.span.scale,
                   .queries = queries.data(),
                   .count = count,
                   .partials = results.data()});
      count = 0;
    };
    for (; i < end; ++i) {
      if (keys.empty()) continue;
      for (std::int32_t h = 0; h < group_; ++h) {
        queries[count] = first + i * call.stride + h * head_dim_;
        results[count] = partials + (i * group_ + h) * partial_size_;
        if (++count == kBlockQueries) flush();
      }
    }
    if (count > 0) flush();
  }
}

void Attention::ClearStates(const Block& block, float* states) const {
  std::fill_n(states, block.rows * group_ * partial_size_, 0.0F);
  for (std::int64_t query = 0; query < std::int64_t{block.rows} * group_; ++query)
    states[query * partial_size_] = -std::numeric_limits<float>::infinity();
}

void Attention::MergeChunk(const Call& call, const Block& block, std::int64_t chunk,
                           const float* partials, float* states) const {
  for (std::int32_t i = 0; i < block.rows; ++i) {
    if (KeysSeen(call, block.position(i), chunk).empty()) continue;
    for (std::int64_t query = i * group_; query < (i + 1) * group_; ++query)
      ops_.merge(partials + query * partial_size_, head_dim_, states + query * partial_size_);
  }
}

void Attention::Finish(const Call& call, const Block& block, const float* states) const {
  for (std::int32_t i = 0; i < block.rows; ++i) {
    float* out = call.out + (block.run->first_row + block.first + i) * call.stride +
                 std::int64_t{block.kv_head} * group_ * head_dim_;
    for (std::int32_t h = 0; h < group_; ++h)
      ops_.finish(states + (i * group_ + h) * partial_size_, head_dim_, out + h * head_dim_);
  }
}

}  // namespace banyan::kernels
