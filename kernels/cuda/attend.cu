// Attention over pages by chunks of keys, as decoding wants it: a block has one chunk of one row,
// one KV head, and up to kQueries of the query heads that share it; partials of all chunks are
// merged by a second kernel, in the order of the chunks.
//
// A key is read by kLanes lanes, eight dimensions each, and a warp reads kWarp / kLanes keys at
// once. In a chunk everything has its place by the number of the key, so a row's bits depend on
// its own keys alone; keys that it does not see are not read.

#include "kernels/cuda/device.h"
#include "kernels/cuda/dispatch.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/kv_numbers.cuh"
#include "kernels/cuda/reduce.cuh"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarp;
constexpr int kChunk = AttentionItem::kChunkKeys;
constexpr int kMaxQueries = 8;

struct AttendArguments {
  Queries queries;
  AttentionWork work;
  PageView pages;
  OpenView open;
  AttentionPartials partials;
  int layer;
  int tiles;  // of kQueries query heads, in a group
  bool own;   // items of rows' own pages, or the others: `pages` is how they are laid out
};

// What a block has to do.
struct Task {
  const float* q;           // of the row
  const std::byte* memory;  // of the pages, or of what the own page has of the layer
  std::int64_t first_page;  // in the tables: where the page of key 0 is, or would be
  std::int64_t item;
  int kv_head;
  int first_head;  // of the queries
  int queries;     // <= kQueries
  int first_key;   // of the chunk; the keys below count from it
  int begin;       // the first key that is seen
  int end;         // behind the last
  int own_slots;   // what a key's number and its slot in the own page differ by
};

__device__ __forceinline__ bool IsOwn(AttentionReads reads) {
  return reads == AttentionReads::kOwnWindow || reads == AttentionReads::kOwnSinks;
}

template <int kQueries>
__device__ __forceinline__ Task FindTask(const AttendArguments& a, const AttentionItem& item) {
  const AttentionRow row = a.work.row_keys[item.row];
  const bool sinks =
      item.reads == AttentionReads::kSinks || item.reads == AttentionReads::kOwnSinks;
  const int heads = a.queries.heads;
  const int group = heads / a.pages.kv_heads;
  const int tile = static_cast<int>(blockIdx.y) % a.tiles;
  Task task;
  task.q = (sinks ? a.queries.sinks_q : a.queries.q) +
           static_cast<std::int64_t>(item.row) * heads * a.pages.head_dim;
  task.memory = a.own ? a.open.LayerOf(row.own_page, a.layer) : a.pages.memory;
  task.first_page = row.first_page - (sinks ? 0 : row.dropped_pages);
  task.item = blockIdx.x;
  task.kv_head = static_cast<int>(blockIdx.y) / a.tiles;
  task.first_head = task.kv_head * group + tile * kQueries;
  task.queries = group - tile * kQueries < kQueries ? group - tile * kQueries : kQueries;
  task.first_key = item.first_key;
  task.own_slots = row.own_first - item.first_key;
  int oldest = sinks ? 0 : row.oldest;
  int end = sinks ? row.sinks : row.position + 1;
  if (a.own) {
    oldest = oldest > row.own_first ? oldest : row.own_first;
  } else {
    end = end < row.own_first ? end : row.own_first;
  }
  task.begin = oldest > item.first_key ? oldest - item.first_key : 0;
  task.end = end - item.first_key < kChunk ? end - item.first_key : kChunk;
  return task;
}

// Where each key of the chunk lies in memory, and its scales.
template <KvFormat kFormat>
__device__ __forceinline__ void FindKeys(const AttendArguments& a, const Task& task,
                                         Shared<std::int64_t> places,
                                         Shared<std::int64_t> scale_places) {
  for (int j = task.begin + threadIdx.x; j < task.end; j += kThreads) {
    if (a.own) {
      places[j] = a.pages.KeyAt(0, 0, task.kv_head, j - task.own_slots);
      continue;
    }
    const int key = task.first_key + j;
    const std::int32_t page = a.work.tables[task.first_page + key / a.pages.page_size];
    const std::int32_t slot = key % a.pages.page_size;
    places[j] = a.pages.KeyAt(page, a.layer, task.kv_head, slot);
    scale_places[j] = ScalePlace<kFormat>(a.pages, page, a.layer, task.kv_head, slot);
  }
}

// scores[query][key] of the keys that are seen.
template <KvFormat kFormat, int kLanes, int kQueries>
__device__ __forceinline__ void ScoreKeys(const AttendArguments& a, const Task& task,
                                          Shared<std::int64_t> places,
                                          Shared<std::int64_t> scale_places, Shared<float> scores) {
  constexpr int kKeys = kWarp / kLanes;  // of a warp at once
  const int lane = threadIdx.x % kWarp;
  const int first_dim = lane % kLanes * kVector;
  const bool has_dims = first_dim < a.pages.head_dim;
  float query[kQueries][kVector] = {};
  for (int n = 0; n < kQueries; ++n) {
    if (n >= task.queries || !has_dims) continue;
    const float* from = task.q + (task.first_head + n) * a.pages.head_dim + first_dim;
    for (int i = 0; i < kVector; ++i) query[n][i] = from[i] * a.queries.scale;
  }
  for (int base = 0; base < task.end; base += kWarps * kKeys) {
    const int j = base + static_cast<int>(threadIdx.x) / kLanes;
    const bool seen = j >= task.begin && j < task.end;
    float key[kVector] = {};
    if (seen && has_dims)
      LoadKey<kFormat>(a.pages, task.memory, places[j], ScaleOf<kFormat>(scale_places, j),
                       first_dim, key);
    for (int n = 0; n < kQueries; ++n) {
      float score = 0.0F;
      for (int i = 0; i < kVector; ++i) score = fmaf(query[n][i], key[i], score);
      for (int bits = kLanes / 2; bits > 0; bits /= 2)
        score += __shfl_xor_sync(kAllLanes, score, bits);
      if (seen && n < task.queries && lane % kLanes == 0) scores[n * kChunk + j] = score;
    }
  }
}

// Scores become weights, exp(score - greatest). A warp has every fourth query.
__device__ __forceinline__ void WeighKeys(const AttendArguments& a, const Task& task,
                                          Shared<float> scores) {
  const int lane = threadIdx.x % kWarp;
  for (int n = threadIdx.x / kWarp; n < task.queries; n += kWarps) {
    Shared<float> row = scores + n * kChunk;
    float greatest = -INFINITY;
    for (int j = lane; j < task.end; j += kWarp)
      if (j >= task.begin) greatest = fmaxf(greatest, row[j]);
    greatest = WarpGreatest(greatest);
    float sum = 0.0F;
    for (int j = lane; j < task.end; j += kWarp) {
      if (j < task.begin) continue;
      const float weight = expf(row[j] - greatest);
      row[j] = weight;
      sum += weight;
    }
    sum = WarpSum(sum);
    if (lane != 0) continue;
    const std::int64_t at = task.item * a.queries.heads + task.first_head + n;
    a.partials.greatest[at] = greatest;
    a.partials.sums[at] = sum;
  }
}

// sums[warp][query][dimension] of the values that a warp has read, weighted.
template <KvFormat kFormat, int kLanes, int kQueries>
__device__ __forceinline__ void SumValues(const AttendArguments& a, const Task& task,
                                          Shared<std::int64_t> places,
                                          Shared<std::int64_t> scale_places, Shared<float> weights,
                                          Shared<float> sums) {
  constexpr int kKeys = kWarp / kLanes;
  const int lane = threadIdx.x % kWarp;
  const int first_dim = lane % kLanes * kVector;
  const bool has_dims = first_dim < a.pages.head_dim;
  float sum[kQueries][kVector] = {};
  for (int base = 0; base < task.end; base += kWarps * kKeys) {
    const int j = base + static_cast<int>(threadIdx.x) / kLanes;
    if (j < task.begin || j >= task.end || !has_dims) continue;
    float value[kVector];
    LoadValue<kFormat>(a.pages, task.memory, places[j], ScaleOf<kFormat>(scale_places, j),
                       first_dim, value);
    for (int n = 0; n < kQueries; ++n) {
      const float weight = n < task.queries ? weights[n * kChunk + j] : 0.0F;
      for (int i = 0; i < kVector; ++i) sum[n][i] = fmaf(weight, value[i], sum[n][i]);
    }
  }
  const int warp = threadIdx.x / kWarp;
  for (int n = 0; n < kQueries; ++n) {
    for (int i = 0; i < kVector; ++i) {
      for (int bits = kWarp / 2; bits >= kLanes; bits /= 2)
        sum[n][i] += __shfl_xor_sync(kAllLanes, sum[n][i], bits);
      if (lane < kLanes && has_dims)
        sums[(warp * kQueries + n) * a.pages.head_dim + first_dim + i] = sum[n][i];
    }
  }
}

// Bytes of the block's memory, part after part.
template <int kQueries>
struct AttendMemory {
  static constexpr int kPlaces = 0;
  static constexpr int kScalePlaces = kPlaces + kChunk * 8;
  static constexpr int kScores = kScalePlaces + kChunk * 8;
  static constexpr int kSums = kScores + kQueries * kChunk * 4;
  static constexpr int Bytes(int head_dim) { return kSums + kWarps * kQueries * head_dim * 4; }
};

template <KvFormat kFormat, int kLanes, int kQueries>
__global__ void __launch_bounds__(kThreads) AttendKernel(AttendArguments a) {
  using Memory = AttendMemory<kQueries>;
  Shared<std::int64_t> places = DynamicShared<std::int64_t>(Memory::kPlaces);
  Shared<std::int64_t> scale_places = DynamicShared<std::int64_t>(Memory::kScalePlaces);
  Shared<float> scores = DynamicShared<float>(Memory::kScores);
  Shared<float> sums = DynamicShared<float>(Memory::kSums);
  const AttentionItem item = a.work.items[a.work.first_of_items + blockIdx.x];
  if (IsOwn(item.reads) != a.own) return;  // another launch's
  const Task task = FindTask<kQueries>(a, item);
  FindKeys<kFormat>(a, task, places, scale_places);
  __syncthreads();
  ScoreKeys<kFormat, kLanes, kQueries>(a, task, places, scale_places, scores);
  __syncthreads();
  WeighKeys(a, task, scores);
  __syncthreads();
  SumValues<kFormat, kLanes, kQueries>(a, task, places, scale_places, scores, sums);
  __syncthreads();
  const int head_dim = a.pages.head_dim;
  float* out = a.partials.values + (task.item * a.queries.heads + task.first_head) * head_dim;
  for (int i = threadIdx.x; i < task.queries * head_dim; i += kThreads) {
    float sum = 0.0F;
    for (int warp = 0; warp < kWarps; ++warp) sum += sums[warp * kQueries * head_dim + i];
    out[i] = sum;
  }
}

template <class T>
__global__ void MergeKernel(AttentionWork work, AttentionPartials partials, int head_dim,
                            T* __restrict__ out) {
  const std::int64_t row = work.first_row + static_cast<std::int64_t>(blockIdx.x);
  const std::int64_t heads = gridDim.y;
  const int begin = work.first_item[row] - work.first_of_items;
  const int end = work.first_item[row + 1] - work.first_of_items;
  float greatest = -INFINITY;
  for (int item = begin; item < end; ++item)
    greatest = fmaxf(greatest, partials.greatest[item * heads + blockIdx.y]);
  for (int d = threadIdx.x; d < head_dim; d += kThreads) {
    float sum = 0.0F;
    float value = 0.0F;
    for (int item = begin; item < end; ++item) {
      const std::int64_t at = item * heads + blockIdx.y;
      const float factor = expf(partials.greatest[at] - greatest);
      sum = fmaf(factor, partials.sums[at], sum);
      value = fmaf(factor, partials.values[at * head_dim + d], value);
    }
    out[(row * heads + blockIdx.y) * head_dim + d] = Rounded<T>(value / sum);
  }
}

template <KvFormat kFormat, int kLanes, int kQueries>
void LaunchAttend(Stream stream, AttendArguments arguments) {
  const int group = arguments.queries.heads / arguments.pages.kv_heads;
  arguments.tiles = (group + kQueries - 1) / kQueries;
  const dim3 grid(static_cast<unsigned>(arguments.work.item_count),
                  static_cast<unsigned>(arguments.pages.kv_heads * arguments.tiles));
  Launch(AttendKernel<kFormat, kLanes, kQueries>, grid, kThreads,
         AttendMemory<kQueries>::Bytes(arguments.pages.head_dim), stream, arguments);
}

// The fewest lanes that hold a head, and the fewest queries that hold a group.
template <KvFormat kFormat, int kLanes>
void LaunchGroup(Stream stream, const AttendArguments& arguments) {
  const int group = arguments.queries.heads / arguments.pages.kv_heads;
  if (group == 1) return LaunchAttend<kFormat, kLanes, 1>(stream, arguments);
  if (group == 2) return LaunchAttend<kFormat, kLanes, 2>(stream, arguments);
  if (group <= 4) return LaunchAttend<kFormat, kLanes, 4>(stream, arguments);
  LaunchAttend<kFormat, kLanes, kMaxQueries>(stream, arguments);
}

template <KvFormat kFormat>
void LaunchHead(Stream stream, const AttendArguments& arguments) {
  const int vectors = arguments.pages.head_dim / kVector;
  if (vectors <= 8) return LaunchGroup<kFormat, 8>(stream, arguments);
  if (vectors <= 16) return LaunchGroup<kFormat, 16>(stream, arguments);
  LaunchGroup<kFormat, 32>(stream, arguments);
}

void LaunchFormat(Stream stream, const AttendArguments& arguments) {
  switch (arguments.pages.format) {
    case KvFormat::kF16:
      return LaunchHead<KvFormat::kF16>(stream, arguments);
    case KvFormat::kBf16:
      return LaunchHead<KvFormat::kBf16>(stream, arguments);
    case KvFormat::kFp8:
      return LaunchHead<KvFormat::kFp8>(stream, arguments);
    case KvFormat::kInt8:
      return LaunchHead<KvFormat::kInt8>(stream, arguments);
    case KvFormat::kInt4:
      return LaunchHead<KvFormat::kInt4>(stream, arguments);
  }
  RequireFailed("a format of pages that is none");
}

}  // namespace

void Attend(Stream stream, const Queries& queries, const AttentionWork& work, const KvPages& kv,
            std::int32_t layer, const AttentionPartials& partials, Output out) {
  if (work.rows == 0) return;
  const std::int32_t head_dim = kv.pages.head_dim;
  Require(head_dim % kVector == 0 && head_dim <= kMaxHeadDim,
          "a head of these dimensions does not fit a warp");
  Require(queries.heads % kv.pages.kv_heads == 0 && queries.heads / kv.pages.kv_heads <= kMaxGroup,
          "query heads are whole groups, and not too many of them");
  LaunchFormat(stream, {queries, work, kv.pages, kv.open, partials, layer, 1, false});
  if (SealsPages(kv.pages.format))
    LaunchFormat(stream, {queries, work, kv.open.open, kv.open, partials, layer, 1, true});
  const auto heads = static_cast<unsigned>(queries.heads);
  ForType(out.type, [&](auto number) {
    using T = decltype(number);
    Launch(MergeKernel<T>, dim3(static_cast<unsigned>(work.rows), heads), kThreads, 0, stream, work,
           partials, head_dim, static_cast<T*>(out.data));
  });
}

}  // namespace banyan::kernels::cuda
