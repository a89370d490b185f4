// Attention over pages by tensor cores: a block has the queries of a tile for one KV head, each
// warp sixteen of them, and goes over the keys that its rows see, a block of keys at a time. Where
// rows attend chunk by chunk, a second kernel merges what the chunks are worth.
//
// What a row gets depends on its query and its keys alone: keys are taken in blocks and chunks that
// are counted from key 0; a block of keys that a row does not see leaves its sums as they are (a
// factor of 1, weights of 0); what a chunk is worth begins at zero, and chunks are added in their
// order, in registers or by the second kernel, to the same bits.

#include "kernels/cuda/attention_memory.cuh"
#include "kernels/cuda/device.h"
#include "kernels/cuda/dispatch.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kMaxThreads = AttentionTile::kMaxQueries / kWarpQueries * kWarp;
constexpr int kMergeThreads = 128;
constexpr float kLog2E = 1.4426950408889634F;

// What is left of a sum when a chunk, or a block of keys, is added whose scores are greater, and
// what is taken of that.
struct Factors {
  float kept;
  float added;
};
__device__ __forceinline__ Factors Raise(float& greatest, float added) {
  const float raised = fmaxf(greatest, added);
  const Factors factors{exp2f(greatest - raised), exp2f(added - raised)};
  greatest = raised;
  return factors;
}
__device__ __forceinline__ float Sum(const Factors& factors, float sum, float added) {
  return fmaf(factors.kept, sum, factors.added * added);
}

// A query whose sums a lane has: what it sees, and what it has of the chunk and of those before.
struct QueryState {
  KeyRange seen;
  float greatest = -INFINITY;
  float sum = 0.0F;  // of the lane's keys
  float greatest_before = -INFINITY;
  float sum_before = 0.0F;

  __device__ bool Sees(int key) const { return key >= seen.begin && key < seen.end; }
};

// Sums of values, weighted: query n of a lane has values 2 n and 2 n + 1 of each.
template <int kDims>
struct ValueSums {
  static constexpr bool kHasBefore = kDims <= AttentionTile::kMaxWholeDims;
  FragmentC chunk[kDims / 8] = {};
  FragmentC before[kHasBefore ? kDims / 8 : 1] = {};
};

// Where the row begins that a lane names for four matrices, which are 16 rows and 16 columns of a
// greater one: those below each other come first, or those beside each other.
template <class Memory>
__device__ __forceinline__ int BelowFirst(int lane) {
  return lane % 16 * Memory::kRow + lane / 16 * 8;
}
template <class Memory>
__device__ __forceinline__ int BesideFirst(int lane) {
  return (lane / 16 * 8 + lane % 8) * Memory::kRow + lane / 8 % 2 * 8;
}

// The warp's queries, in registers where those are enough; else read for every block of keys.
template <int kDims, class Memory>
struct QueryFragments {
  static constexpr bool kKept = kDims <= 64;

  __device__ explicit QueryFragments(const Memory& memory)
      : first(memory.queries + (threadIdx.x / kWarp * kWarpQueries * Memory::kRow +
                                BelowFirst<Memory>(threadIdx.x % kWarp))) {
    if constexpr (kKept)
      UNROLLED for (int d = 0; d < kDims / 16; ++d) LoadMatrices(kept[d].pairs, first + 16 * d);
  }
  // Dimensions 16 d .. 16 d + 15.
  __device__ FragmentA At(int d) const {
    if constexpr (kKept) return kept[d];
    FragmentA loaded;
    LoadMatrices(loaded.pairs, first + 16 * d);
    return loaded;
  }

  Shared<std::uint16_t> first;
  FragmentA kept[kKept ? kDims / 16 : 1];
};

// scores[t] = of the warp's queries and keys 8 t .. 8 t + 7.
template <class T, int kDims, class Memory>
__device__ __forceinline__ void ScoreKeys(const QueryFragments<kDims, Memory>& queries,
                                          const KeyBlock<Memory>& block,
                                          FragmentC (&scores)[Memory::kKeys / 8]) {
  const int lane = threadIdx.x % kWarp;
  UNROLLED for (int t = 0; t < Memory::kKeys / 8; ++t) scores[t] = {};
  UNROLLED for (int d = 0; d < kDims / 16; ++d) {
    const FragmentA query = queries.At(d);
    UNROLLED for (int t = 0; t < Memory::kKeys / 8; t += 2) {
      std::uint32_t pairs[4];
      LoadMatrices(pairs, block.keys + (8 * t * Memory::kRow + 16 * d + BesideFirst<Memory>(lane)));
      MmaM16N8K16<T>(scores[t], query, {{pairs[0], pairs[1]}});
      MmaM16N8K16<T>(scores[t + 1], query, {{pairs[2], pairs[3]}});
    }
  }
}

// The greatest, or the sum, of the four lanes that have a query.
__device__ __forceinline__ float QuadGreatest(float x) {
  for (int bits = 1; bits < 4; bits *= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, bits));
  return x;
}
__device__ __forceinline__ float QuadSum(float x) {
  for (int bits = 1; bits < 4; bits *= 2) x += __shfl_xor_sync(kAllLanes, x, bits);
  return x;
}

// Scores of a lane's query n become weights of the keys that it sees, 0 of others. What was summed
// before is to be multiplied with what is returned.
template <KvFormat kFormat, class Memory>
__device__ __forceinline__ float WeighKeys(const KeyBlock<Memory>& block, int n, int first_key,
                                           bool all_seen, QueryState& query,
                                           FragmentC (&scores)[Memory::kKeys / 8]) {
  const int lane = threadIdx.x % kWarp;
  float greatest = -INFINITY;
  UNROLLED for (int t = 0; t < Memory::kKeys / 8; ++t) {
    UNROLLED for (int half = 0; half < 2; ++half) {
      const int j = 8 * t + PlaceInC(lane, half).column;
      float& score = scores[t].values[2 * n + half];
      if constexpr (kFormat == KvFormat::kInt8) score *= block.scales[j];
      if (!all_seen && !query.Sees(first_key + j)) score = -INFINITY;
      greatest = fmaxf(greatest, score);
    }
  }
  greatest = fmaxf(query.greatest, QuadGreatest(greatest));
  const float base = greatest == -INFINITY ? 0.0F : greatest;  // where nothing is seen as yet
  const float factor = exp2f(query.greatest - base);
  query.greatest = greatest;
  float sum = 0.0F;
  UNROLLED for (int t = 0; t < Memory::kKeys / 8; ++t) {
    UNROLLED for (int half = 0; half < 2; ++half) {
      const int j = 8 * t + PlaceInC(lane, half).column;
      float& weight = scores[t].values[2 * n + half];
      weight = exp2f(weight - base);
      sum += weight;
      if constexpr (kFormat == KvFormat::kInt8) weight *= block.scales[Memory::kKeys + j];
    }
  }
  query.sum = fmaf(query.sum, factor, sum);
  return factor;
}

// sums[t] += of the warp's queries, dimensions 8 t .. 8 t + 7.
template <class T, int kDims, class Memory>
__device__ __forceinline__ void SumValues(const KeyBlock<Memory>& block,
                                          const FragmentC (&weights)[Memory::kKeys / 8],
                                          FragmentC (&sums)[kDims / 8]) {
  const int lane = threadIdx.x % kWarp;
  UNROLLED for (int t = 0; t < Memory::kKeys / 8; t += 2) {
    // Two products' sums, side by side, are laid out as one's left operand.
    const float(&low)[4] = weights[t].values;
    const float(&high)[4] = weights[t + 1].values;
    const FragmentA of_keys{{RoundedPair<T>(low[0], low[1]), RoundedPair<T>(low[2], low[3]),
                             RoundedPair<T>(high[0], high[1]), RoundedPair<T>(high[2], high[3])}};
    UNROLLED for (int d = 0; d < kDims / 8; d += 2) {
      std::uint32_t pairs[4];
      LoadMatricesTransposed(
          pairs, block.values + (8 * t * Memory::kRow + 8 * d + BelowFirst<Memory>(lane)));
      MmaM16N8K16<T>(sums[d], of_keys, {{pairs[0], pairs[1]}});
      MmaM16N8K16<T>(sums[d + 1], of_keys, {{pairs[2], pairs[3]}});
    }
  }
}

// The warp's queries attend to a block of keys.
template <KvFormat kFormat, int kDims, class Memory>
__device__ __forceinline__ void AttendToKeys(const QueryFragments<kDims, Memory>& fragments,
                                             const KeyBlock<Memory>& block, int first_key,
                                             bool all_seen, QueryState (&queries)[2],
                                             ValueSums<kDims>& sums) {
  using T = ProductType<kFormat>;
  FragmentC scores[Memory::kKeys / 8];
  ScoreKeys<T, kDims>(fragments, block, scores);
  UNROLLED for (int n = 0; n < 2; ++n) {
    const float factor = WeighKeys<kFormat>(block, n, first_key, all_seen, queries[n], scores);
    if (factor == 1.0F) continue;
    UNROLLED for (int t = 0; t < kDims / 8; ++t) {
      sums.chunk[t].values[2 * n] *= factor;
      sums.chunk[t].values[2 * n + 1] *= factor;
    }
  }
  SumValues<T, kDims>(block, scores, sums.chunk);
}

// A chunk is at its end: what it is worth is added to what those before were.
template <int kDims>
__device__ __forceinline__ void AddChunk(QueryState (&queries)[2], ValueSums<kDims>& sums) {
  UNROLLED for (int n = 0; n < 2; ++n) {
    QueryState& query = queries[n];
    query.sum = QuadSum(query.sum);
    if constexpr (ValueSums<kDims>::kHasBefore) {
      if (query.sum != 0.0F) {  // some key is seen
        const Factors factors = Raise(query.greatest_before, query.greatest);
        query.sum_before = Sum(factors, query.sum_before, query.sum);
        UNROLLED for (int t = 0; t < kDims / 8; ++t) {
          UNROLLED for (int i = 2 * n; i < 2 * n + 2; ++i) sums.before[t].values[i] =
              Sum(factors, sums.before[t].values[i], sums.chunk[t].values[i]);
        }
      }
      query.greatest = -INFINITY;
      query.sum = 0.0F;
    }
  }
  if constexpr (ValueSums<kDims>::kHasBefore)
    UNROLLED for (int t = 0; t < kDims / 8; ++t) sums.chunk[t] = {};
}

__device__ __forceinline__ void Store(const Output& out, std::int64_t at, float x) {
  switch (out.type) {
    case NumberType::kF32:
      static_cast<float*>(out.data)[at] = x;
      return;
    case NumberType::kF16:
      static_cast<Half*>(out.data)[at] = Rounded<Half>(x);
      return;
    case NumberType::kBf16:
      static_cast<Bf16*>(out.data)[at] = Rounded<Bf16>(x);
      return;
  }
}

// Of a lane's query n: to the partials of its item, or, divided, to its row of `out`.
template <int kDims>
__device__ __forceinline__ void StoreQuery(const AttendArguments& a, const AttentionTask& task,
                                           int n, float greatest, float sum,
                                           const FragmentC (&values)[kDims / 8],
                                           const Output& out) {
  const int lane = threadIdx.x % kWarp;
  const int of_tile = threadIdx.x / kWarp * kWarpQueries + PlaceInC(lane, 2 * n).row;
  if (of_tile >= task.queries) return;
  const AttentionTileRow row = task.RowOf(a, of_tile);
  const bool whole = row.item == AttentionTileRow::kWhole;
  const std::int64_t place = whole ? row.row : row.item - a.first_item;
  const std::int64_t at = place * a.queries.heads + task.HeadOf(of_tile);
  if (!whole && lane % 4 == 0) {
    a.partials.greatest[at] = greatest;
    a.partials.sums[at] = sum;
  }
  UNROLLED for (int t = 0; t < kDims / 8; ++t) {
    UNROLLED for (int half = 0; half < 2; ++half) {
      const int dim = 8 * t + PlaceInC(lane, half).column;
      if (dim >= a.pages.head_dim) continue;
      const float value = values[t].values[2 * n + half];
      if (whole) {
        Store(out, at * a.pages.head_dim + dim, value / sum);
      } else {
        a.partials.values[at * a.pages.head_dim + dim] = value;
      }
    }
  }
}

__device__ __forceinline__ void FindQueries(const AttendArguments& a, const AttentionTask& task,
                                            QueryState (&queries)[2]) {
  for (int n = 0; n < 2; ++n) {
    const int of_tile =
        threadIdx.x / kWarp * kWarpQueries + PlaceInC(threadIdx.x % kWarp, 2 * n).row;
    if (of_tile < task.queries)
      queries[n].seen = a.work.row_keys[task.RowOf(a, of_tile).row].Seen(task.tile.reads);
  }
}

template <KvFormat kFormat, int kDims>
__global__ void __launch_bounds__(kMaxThreads) AttendKernel(AttendArguments a, Output out) {
  using Memory = AttentionMemory<kFormat, kDims>;
  constexpr int kKeys = Memory::kKeys;
  const Memory memory;
  const AttentionTask task = FindTask(a);
  const KeyRange some = task.tile.some;
  const KeyRange all = task.tile.all;
  const bool has_queries = static_cast<int>(threadIdx.x) / kWarp * kWarpQueries < task.queries;
  QueryState queries[2];
  FindQueries(a, task, queries);
  LoadQueries<ProductType<kFormat>, kDims>(a, task, a.queries.scale * kLog2E, memory);
  int key = some.begin / kKeys * kKeys;
  FindKeys<kFormat>(a, task, key / kChunkKeys * kChunkKeys, memory);
  LoadKeys<kFormat, kDims>(a, task, key, memory, KeyBlock<Memory>(0));
  const QueryFragments<kDims, Memory> fragments(memory);
  ValueSums<kDims> sums;
  for (int which = 0; key < some.end; which = 1 - which) {
    WaitForCopies<0>();
    __syncthreads();
    const KeyBlock<Memory> block(which);
    const int next = key + kKeys;
    const bool ends_chunk = next % kChunkKeys == 0 || next >= some.end;
    if (next < some.end) {
      if (ends_chunk) FindKeys<kFormat>(a, task, next, memory);
      LoadKeys<kFormat, kDims>(a, task, next, memory, KeyBlock<Memory>(1 - which));
    }
    const int begin = key > some.begin ? key : some.begin;
    const int end = next < some.end ? next : some.end;
    if (begin < all.begin || end > all.end) SilenceValues<kFormat, kDims>(block);
    if (has_queries) {
      AttendToKeys<kFormat, kDims>(fragments, block, key, key >= all.begin && next <= all.end,
                                   queries, sums);
      if (ends_chunk) AddChunk<kDims>(queries, sums);
    }
    key = next;
  }
  UNROLLED for (int n = 0; n < 2; ++n) {
    const QueryState& query = queries[n];
    if constexpr (ValueSums<kDims>::kHasBefore) {
      StoreQuery<kDims>(a, task, n, query.greatest_before, query.sum_before, sums.before, out);
    } else {
      StoreQuery<kDims>(a, task, n, query.greatest, query.sum, sums.chunk, out);
    }
  }
}

template <class T>
__global__ void MergeKernel(const std::int32_t* __restrict__ first_item, AttentionPart part,
                            AttentionPartials partials, int head_dim, T* __restrict__ out) {
  const std::int64_t row = part.first_row + static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t heads = gridDim.y;
  const int begin = first_item[row] - part.first_item;
  const int end = first_item[row + 1] - part.first_item;
  if (begin == end) return;  // it has attended whole
  for (int d = threadIdx.x; d < head_dim; d += kMergeThreads) {
    float greatest = -INFINITY;
    float sum = 0.0F;
    float value = 0.0F;
    for (int item = begin; item < end; ++item) {
      const std::int64_t at = item * heads + blockIdx.y;
      if (partials.sums[at] == 0.0F) continue;
      const Factors factors = Raise(greatest, partials.greatest[at]);
      sum = Sum(factors, sum, partials.sums[at]);
      value = Sum(factors, value, partials.values[at * head_dim + d]);
    }
    out[(row * heads + blockIdx.y) * head_dim + d] = Rounded<T>(value / sum);
  }
}

template <KvFormat kFormat, int kDims>
void LaunchTiles(Stream stream, const AttendArguments& arguments, std::int32_t tiles,
                 std::int32_t queries, const Output& out) {
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(arguments.pages.kv_heads));
  Launch(AttendKernel<kFormat, kDims>, grid, static_cast<unsigned>(queries / kWarpQueries * kWarp),
         AttentionMemory<kFormat, kDims>::Bytes(queries), stream, arguments, out);
}

template <KvFormat kFormat>
void LaunchDims(Stream stream, const AttendArguments& arguments, std::int32_t tiles,
                std::int32_t queries, const Output& out) {
  const int head_dim = arguments.pages.head_dim;
  if (head_dim <= 64) return LaunchTiles<kFormat, 64>(stream, arguments, tiles, queries, out);
  if (head_dim <= 96) return LaunchTiles<kFormat, 96>(stream, arguments, tiles, queries, out);
  if (head_dim <= 128) return LaunchTiles<kFormat, 128>(stream, arguments, tiles, queries, out);
  LaunchTiles<kFormat, kMaxHeadDim>(stream, arguments, tiles, queries, out);
}

void LaunchFormat(Stream stream, const AttendArguments& arguments, std::int32_t tiles,
                  std::int32_t queries, const Output& out) {
  switch (arguments.pages.format) {
    case KvFormat::kF16:
      return LaunchDims<KvFormat::kF16>(stream, arguments, tiles, queries, out);
    case KvFormat::kBf16:
      return LaunchDims<KvFormat::kBf16>(stream, arguments, tiles, queries, out);
    case KvFormat::kFp8:
      return LaunchDims<KvFormat::kFp8>(stream, arguments, tiles, queries, out);
    case KvFormat::kInt8:
      return LaunchDims<KvFormat::kInt8>(stream, arguments, tiles, queries, out);
    case KvFormat::kInt4:
      return LaunchDims<KvFormat::kInt4>(stream, arguments, tiles, queries, out);
  }
  RequireFailed("a format of pages that is none");
}

}  // namespace

void Attend(Stream stream, const Queries& queries, const AttentionWork& work,
            const AttentionPart& part, const KvPages& kv, std::int32_t layer,
            const AttentionPartials& partials, Output out) {
  const std::int32_t head_dim = kv.pages.head_dim;
  Require(head_dim % kVector == 0 && head_dim <= kMaxHeadDim,
          "a head of these dimensions does not fit a tile");
  Require(queries.heads % kv.pages.kv_heads == 0 && queries.heads / kv.pages.kv_heads <= kMaxGroup,
          "query heads are whole groups, and not too many of them");
  AttendArguments arguments{.queries = queries,
                            .work = work,
                            .partials = partials,
                            .pages = kv.pages,
                            .open = kv.open,
                            .layer = layer,
                            .first_tile = part.first_tile,
                            .first_item = part.first_item};
  for (std::int32_t kind = 0; kind < kTileKinds; ++kind) {
    const std::int32_t tiles = part.tiles[kind];
    if (tiles == 0) continue;
    arguments.pages = IsOwn(static_cast<TileKind>(kind)) ? kv.open.open : kv.pages;
    LaunchFormat(stream, arguments, tiles, QueriesOf(static_cast<TileKind>(kind)), out);
    arguments.first_tile += tiles;
  }
  if (part.items == 0) return;
  ForType(out.type, [&](auto number) {
    using T = decltype(number);
    Launch(MergeKernel<T>,
           dim3(static_cast<unsigned>(part.rows), static_cast<unsigned>(queries.heads)),
           kMergeThreads, 0, stream, work.first_item, part, partials, head_dim,
           static_cast<T*>(out.data));
  });
}

}  // namespace banyan::kernels::cuda
