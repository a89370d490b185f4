// Rows note what they see: scores of all slots, their greatest and the sum of weights by eight
// lanes, then slot by slot the probabilities, row after row.

#include "kernels/cuda/device.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/kv_numbers.cuh"
#include "kernels/cuda/observations.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kLanes = 8;    // by which a row's sum is cut
constexpr int kQueries = 8;  // of which a thread has the sums
constexpr float kLog2E = 1.4426950408889634F;

// 2^x for x <= 0, 0 from -127 down; NaN stays NaN.
__device__ __forceinline__ float Exp2(float x) {
  const float clamped = -127.0F > x ? -127.0F : x;
  const float n = rintf(clamped);
  const float r = clamped - n;
  float p = 1.32694072e-3F;
  p = p * r + 9.67129413e-3F;
  p = p * r + 5.55071123e-2F;
  p = p * r + 2.40222469e-1F;
  p = p * r + 6.93147004e-1F;
  p = p * r + 1.0F;
  const auto exponent = static_cast<std::int32_t>(x == x ? n : 0.0F);
  return __uint_as_float(__float_as_uint(p) + (static_cast<unsigned>(exponent) << 23));
}

// What the numbers of a key are multiplied with.
template <KvFormat kFormat>
__device__ __forceinline__ float FactorOf(const PageView& pages, std::int32_t page,
                                          std::int32_t layer, std::int32_t kv_head,
                                          std::int32_t slot) {
  if constexpr (kFormat != KvFormat::kInt8) return 1.0F;
  return ToFloat(
      *reinterpret_cast<const Half*>(pages.memory + pages.ScaleAt(page, layer, kv_head, slot)));
}

// A thread has a slot: its products with the queries of a KV head, a few at a time.
template <KvFormat kFormat>
__global__ void __launch_bounds__(kThreads)
    ScoreSlotsKernel(ObserveStep step, PageView pages, std::int32_t layer) {
  const ObservedRows rows = step.rows[blockIdx.z];
  const auto kv_head = static_cast<std::int32_t>(blockIdx.y);
  const auto at = static_cast<std::int32_t>(blockIdx.x * kThreads + threadIdx.x);
  if (at >= rows.slots()) return;
  const int head_dim = pages.head_dim;
  const int group = step.heads / pages.kv_heads;
  const std::int32_t page = step.tables[rows.first_page + at / pages.page_size];
  const std::int32_t slot = at % pages.page_size;
  const std::byte* key = pages.memory + pages.KeyAt(page, layer, kv_head, slot);
  const float factor = FactorOf<kFormat>(pages, page, layer, kv_head, slot) * (step.scale * kLog2E);
  const float* q =
      step.q + (std::int64_t{rows.first_row} * step.heads + kv_head * group) * head_dim;
  const int count = rows.rows * group;
  for (int first = 0; first < count; first += kQueries) {
    float sums[kQueries] = {};
    for (int dim = 0; dim < head_dim; dim += kVector) {
      float numbers[kVector];
      LoadNumbers<kFormat>(key + dim * pages.slot_bytes / head_dim, 1.0F, numbers);
      UNROLLED for (int i = 0; i < kQueries; ++i) {
        if (first + i >= count) break;
        const int row = (first + i) / group;
        const float* query =
            q + (std::int64_t{row} * step.heads + (first + i) % group) * head_dim + dim;
        UNROLLED for (int d = 0; d < kVector; ++d) sums[i] += query[d] * numbers[d];
      }
    }
    UNROLLED for (int i = 0; i < kQueries; ++i) {
      if (first + i >= count) break;
      const int row = (first + i) / group;
      const std::int64_t head =
          std::int64_t{row} * step.heads + kv_head * group + (first + i) % group;
      step.scores[rows.first_score + head * rows.width + at] = factor * sums[i];
    }
  }
}

// The greatest of eight lanes, or their sum by one tree.
template <class F>
__device__ __forceinline__ float OfLanes(float x, const F& f) {
  for (int bits = kLanes / 2; bits > 0; bits /= 2) x = f(x, __shfl_xor_sync(kAllLanes, x, bits));
  return x;
}

// Eight lanes have a row's head: its scores become weights, and of their sum remains the share of
// one; 0 where the sum is no number.
__global__ void __launch_bounds__(kThreads) WeighSlotsKernel(ObserveStep step) {
  const ObservedRows rows = step.rows[blockIdx.y];
  const auto head = static_cast<int>(blockIdx.x * kThreads + threadIdx.x) / kLanes;
  const int lane = threadIdx.x % kLanes;
  const bool is_there = head < rows.rows * step.heads;
  const int slots = is_there ? rows.first_slot + head / step.heads + 1 : 0;
  float* scores = step.scores + (rows.first_score + std::int64_t{head} * rows.width);
  float greatest = -INFINITY;
  for (int i = lane; i < slots; i += kLanes) greatest = scores[i] > greatest ? scores[i] : greatest;
  greatest = OfLanes(greatest, [](float a, float b) { return a > b ? a : b; });
  float sum = 0.0F;
  for (int i = lane; i < slots; i += kLanes) {
    scores[i] = Exp2(scores[i] - greatest);
    sum += scores[i];
  }
  sum = OfLanes(sum, [](float a, float b) { return a + b; });
  if (is_there && lane == 0)
    step.shares[rows.first_share + head] = sum < INFINITY ? 1.0F / sum : 0.0F;
}

// A thread has a slot, which it notes of all the run's rows in turn.
template <class Note>
__device__ __forceinline__ void NoteRows(const ObserveStep& step, const NotedRun& run,
                                         const PageView& pages, int slot, const Note& note) {
  const int group = step.heads / pages.kv_heads;
  std::int64_t position = run.first_position;
  for (int i = run.first_rows; i < run.first_rows + run.count; ++i) {
    const ObservedRows rows = step.rows[i];
    for (int row = 0; row < rows.rows; ++row, ++position) {
      const int slots = rows.first_slot + row + 1;
      if (slot >= slots) continue;
      float probability = 0.0F;
      for (int h = 0; h < group; ++h) {
        const std::int64_t head =
            std::int64_t{row} * step.heads + static_cast<int>(blockIdx.y) * group + h;
        const float share = step.shares[rows.first_share + head];
        if (share != 0.0F)
          probability += step.scores[rows.first_score + head * rows.width + slot] * share;
      }
      note(probability, static_cast<float>(group) / static_cast<float>(slots), position);
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    NoteSlotsKernel(ObserveStep step, PageView pages, std::int32_t layer) {
  const NotedRun run = step.runs[blockIdx.z];
  const auto slot = static_cast<int>(blockIdx.x * kThreads + threadIdx.x);
  if (slot >= step.rows[run.first_rows + run.count - 1].slots()) return;
  if (run.notes.by == SlotImportance::kSum) {
    float& kept = run.notes.Of<float>(layer, pages.kv_heads, blockIdx.y)[slot];
    float sum = slot < run.known ? kept : 0.0F;
    NoteRows(
        step, run, pages, slot,
        [&](float probability, float /*mean*/, std::int64_t /*position*/) { sum += probability; });
    kept = sum;
    return;
  }
  std::uint64_t& kept = run.notes.Of<std::uint64_t>(layer, pages.kv_heads, blockIdx.y)[slot];
  std::uint64_t marks = slot < run.known ? kept : 0;
  NoteRows(step, run, pages, slot, [&](float probability, float mean, std::int64_t position) {
    const std::uint64_t mark = std::uint64_t{1} << position % KeepRule::kMaxHistory;
    marks = (marks & ~mark) | (probability >= mean ? mark : 0);
  });
  kept = marks;
}

template <KvFormat kFormat>
void ScoreSlots(Stream stream, const dim3& grid, const ObserveStep& step, const PageView& pages,
                std::int32_t layer) {
  Launch(ScoreSlotsKernel<kFormat>, grid, kThreads, 0, stream, step, pages, layer);
}

void ScoreSlots(Stream stream, const dim3& grid, const ObserveStep& step, const PageView& pages,
                std::int32_t layer) {
  switch (pages.format) {
    case KvFormat::kF16:
      return ScoreSlots<KvFormat::kF16>(stream, grid, step, pages, layer);
    case KvFormat::kBf16:
      return ScoreSlots<KvFormat::kBf16>(stream, grid, step, pages, layer);
    case KvFormat::kFp8:
      return ScoreSlots<KvFormat::kFp8>(stream, grid, step, pages, layer);
    case KvFormat::kInt8:
      return ScoreSlots<KvFormat::kInt8>(stream, grid, step, pages, layer);
    case KvFormat::kInt4:
      break;
  }
  RequireFailed("slots of pages that are sealed are not observed");
}

}  // namespace

void Observe(Stream stream, const ObserveStep& step, const PageView& pages, std::int32_t layer) {
  if (step.count == 0) return;
  const auto kv_heads = static_cast<unsigned>(pages.kv_heads);
  const auto count = static_cast<unsigned>(step.count);
  const auto runs = static_cast<unsigned>(step.run_count);
  const auto slots = static_cast<unsigned>((step.most_slots + kThreads - 1) / kThreads);
  ScoreSlots(stream, dim3(slots, kv_heads, count), step, pages, layer);
  const int threads = ObservedRows::kMost * step.heads * kLanes;
  Launch(WeighSlotsKernel, dim3(static_cast<unsigned>((threads + kThreads - 1) / kThreads), count),
         kThreads, 0, stream, step);
  Launch(NoteSlotsKernel, dim3(slots, kv_heads, runs), kThreads, 0, stream, step, pages, layer);
}

}  // namespace banyan::kernels::cuda
