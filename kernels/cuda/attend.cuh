// Attention over pages by tensor cores: a block has the queries of a tile for one KV head, each
// warp sixteen of them, and goes over the keys that its rows see, a block of keys at a time.
//
// What a row gets depends on its query and its keys alone: keys are taken in blocks and chunks that
// are counted from key 0; a block of keys that a row does not see leaves its sums as they are (a
// factor of 1, weights of 0); what a chunk is worth begins at zero, and chunks are added in their
// order, in registers or by merge.cu, to the same bits.
//
// A format of pages is a file that instantiates AttendTiles for it.
#pragma once

#include "kernels/cuda/attend.h"
#include "kernels/cuda/attention_loads.cuh"
#include "kernels/cuda/attention_memory.cuh"
#include "kernels/cuda/attention_products.cuh"
#include "kernels/cuda/attention_sums.cuh"
#include "kernels/cuda/device.h"

namespace banyan::kernels::cuda {

inline constexpr float kLog2E = 1.4426950408889634F;

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
__global__ void __launch_bounds__(kMaxAttendThreads) AttendKernel(AttendArguments a, Output out) {
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

template <KvFormat kFormat, int kDims>
void LaunchTiles(Stream stream, const AttendArguments& arguments, std::int32_t tiles,
                 std::int32_t queries, const Output& out) {
  const dim3 grid(static_cast<unsigned>(tiles), static_cast<unsigned>(arguments.pages.kv_heads));
  Launch(AttendKernel<kFormat, kDims>, grid, static_cast<unsigned>(queries / kWarpQueries * kWarp),
         AttentionMemory<kFormat, kDims>::Bytes(queries), stream, arguments, out);
}

template <KvFormat kFormat>
void AttendTiles(Stream stream, const AttendArguments& arguments, std::int32_t tiles,
                 std::int32_t queries, const Output& out) {
  const int head_dim = arguments.pages.head_dim;
  if (head_dim <= 64) return LaunchTiles<kFormat, 64>(stream, arguments, tiles, queries, out);
  if (head_dim <= 96) return LaunchTiles<kFormat, 96>(stream, arguments, tiles, queries, out);
  if (head_dim <= 128) return LaunchTiles<kFormat, 128>(stream, arguments, tiles, queries, out);
  LaunchTiles<kFormat, kMaxHeadDim>(stream, arguments, tiles, queries, out);
}

}  // namespace banyan::kernels::cuda
