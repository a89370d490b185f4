// What survives a compaction, by a block for each layer and KV head: first it is listed, then moved
// to the front of its table.

#include <type_traits>

#include "kernels/cuda/device.h"
#include "kernels/cuda/in_order.cuh"
#include "kernels/cuda/observations.h"
#include "kernels/cuda/ranks.cuh"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ float ImportanceOf(const CompactionStep& step, const PageView& pages,
                                              int slot) {
  if (step.notes.by == SlotImportance::kSum)
    return step.notes.Of<const float>(blockIdx.y, pages.kv_heads, blockIdx.x)[slot];
  const std::uint64_t marks =
      step.notes.Of<const std::uint64_t>(blockIdx.y, pages.kv_heads, blockIdx.x)[slot];
  return static_cast<float>(__popcll(marks & step.rows));
}

__global__ void __launch_bounds__(kThreads) SurviveKernel(CompactionStep step, PageView pages) {
  const std::int64_t head = std::int64_t{blockIdx.y} * pages.kv_heads + blockIdx.x;
  const auto kept = static_cast<int>(step.keep.kept(step.slots));
  std::int32_t* survivors = step.survivors + head * kept;
  if (kept == step.slots) {
    for (int i = threadIdx.x; i < kept; i += kThreads) survivors[i] = i;
    return;
  }
  const int sinks = static_cast<int>(step.keep.sinks);
  const int recent = static_cast<int>(step.keep.recent);
  const int end = step.slots - recent;  // of those that are chosen among
  const int chosen = kept - sinks - recent;
  for (int i = threadIdx.x; i < sinks; i += kThreads) survivors[i] = i;
  for (int i = threadIdx.x; i < recent; i += kThreads) survivors[kept - recent + i] = end + i;
  if (chosen == 0) return;
  float* pooled = step.pooled + head * step.slots;
  const int reach = step.keep.pooled / 2;
  for (int i = sinks + static_cast<int>(threadIdx.x); i < end; i += kThreads) {
    float most = 0.0F;
    for (int j = i < reach ? 0 : i - reach; j <= i + reach && j < end; ++j)
      most = fmaxf(most, ImportanceOf(step, pages, j));
    pooled[i] = most;  // which is this thread's to read, too
  }
  const auto rank = [&](int i) { return RankOf(pooled[sinks + i], i); };
  const Sum64 last =
      RankOfLast<kThreads>(MakeRankMemory<struct SurviveMemory>(), end - sinks,
                           static_cast<Sum64>(chosen), rank, [](int) { return Sum64{1}; });
  for (int first = 0, done = 0; first < end - sinks; first += kThreads) {
    const int i = first + static_cast<int>(threadIdx.x);
    const bool survives = sinks + i < end && rank(i) >= last;
    const InOrder order = CountInOrder<kThreads, struct SurvivorMemory>(survives);
    if (survives) survivors[sinks + done + order.before] = sinks + i;
    done += order.all;
  }
}

// From where `from` says to where `to` does, in order: what is written lies before all that is read
// later, so it is enough that what is written together was read before.
template <class T, class From, class To>
__device__ __forceinline__ void MoveInOrder(int count, const From& from, const To& to) {
  constexpr int kTogether = 4;
  for (int first = 0; first < count; first += kTogether * kThreads) {
    T read[kTogether];
    UNROLLED for (int n = 0; n < kTogether; ++n) {
      const int i = first + n * kThreads + static_cast<int>(threadIdx.x);
      if (i < count) read[n] = *from(i);
    }
    __syncthreads();
    UNROLLED for (int n = 0; n < kTogether; ++n) {
      const int i = first + n * kThreads + static_cast<int>(threadIdx.x);
      if (i < count) *to(i) = read[n];
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    MoveSurvivorsKernel(CompactionStep step, PageView pages) {
  const auto layer = static_cast<std::int32_t>(blockIdx.y);
  const auto kv_head = static_cast<std::int32_t>(blockIdx.x);
  const std::int64_t head = std::int64_t{layer} * pages.kv_heads + kv_head;
  const auto kept = static_cast<int>(step.keep.kept(step.slots));
  const std::int32_t* survivors = step.survivors + head * kept;
  const int page_size = pages.page_size;
  const auto key = [&](const std::int32_t* table, int slot) {
    return pages.memory + pages.KeyAt(table[slot / page_size], layer, kv_head, slot % page_size);
  };
  // A slot's key and value, eight bytes at a time.
  const int units = pages.slot_bytes / static_cast<int>(sizeof(uint2));
  const auto unit = [&](const std::int32_t* table, int slot, int i) {
    const std::int64_t of_value = i % (2 * units) < units ? 0 : pages.values_after();
    return reinterpret_cast<uint2*>(key(table, slot) + of_value) + i % units;
  };
  MoveInOrder<uint2>(
      kept * 2 * units, [&](int i) { return unit(step.from, survivors[i / (2 * units)], i); },
      [&](int i) { return unit(step.to, i / (2 * units), i); });
  if (pages.scale_bytes > 0) {
    const auto scale = [&](const std::int32_t* table, int slot, int i) {
      return reinterpret_cast<Half*>(pages.memory + pages.ScaleAt(table[slot / page_size], layer,
                                                                  kv_head, slot % page_size)) +
             (i % 2 == 0 ? 0 : page_size);
    };
    MoveInOrder<Half>(
        kept * 2, [&](int i) { return scale(step.from, survivors[i / 2], i); },
        [&](int i) { return scale(step.to, i / 2, i); });
  }
  const auto notes = [&](auto* of) {
    using T = std::remove_pointer_t<decltype(of)>;
    MoveInOrder<T>(
        kept, [&](int i) { return of + survivors[i]; }, [&](int i) { return of + i; });
  };
  if (step.notes.by == SlotImportance::kSum) {
    notes(step.notes.Of<float>(layer, pages.kv_heads, kv_head));
  } else {
    notes(step.notes.Of<std::uint64_t>(layer, pages.kv_heads, kv_head));
  }
}

}  // namespace

void ListSurvivors(Stream stream, const CompactionStep& step, const PageView& pages) {
  const dim3 grid(static_cast<unsigned>(pages.kv_heads), static_cast<unsigned>(pages.layers));
  Launch(SurviveKernel, grid, kThreads, 0, stream, step, pages);
}

void MoveSurvivors(Stream stream, const CompactionStep& step, const PageView& pages) {
  Require(!SealsPages(pages.format), "slots of pages that are sealed are not moved");
  const dim3 grid(static_cast<unsigned>(pages.kv_heads), static_cast<unsigned>(pages.layers));
  Launch(MoveSurvivorsKernel, grid, kThreads, 0, stream, step, pages);
}

}  // namespace banyan::kernels::cuda
