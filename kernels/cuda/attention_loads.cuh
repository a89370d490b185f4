// How queries, keys and values come into a block's shared memory (attention_memory.cuh). All are
// numbers of 16 bits as tensor cores take them: those of the pages as they are, where they have 16
// bits; fp8's and int8's codes exactly; int4's rounded.
//
// Keys that no row of the tile sees are zeros and are not read; so are dimensions that a head does
// not have.
#pragma once

#include <type_traits>

#include "kernels/cuda/attention_memory.cuh"
#include "kernels/cuda/device.h"
#include "kernels/cuda/kv_numbers.cuh"

namespace banyan::kernels::cuda {

template <class T>
inline constexpr std::uint32_t kExponent = std::is_same_v<T, Bf16> ? 0x7f80 : 0x7c00;
inline constexpr std::uint16_t kNotANumber = 0x7fff;  // of either type

__device__ __forceinline__ void StoreZeros(Shared<std::uint16_t> to) {
  As<uint4>(to)[0] = make_uint4(0, 0, 0, 0);
}

template <class T>
__device__ __forceinline__ void StoreRounded(Shared<std::uint16_t> to, const float (&x)[kVector]) {
  As<uint4>(to)[0] = make_uint4(RoundedPair<T>(x[0], x[1]), RoundedPair<T>(x[2], x[3]),
                                RoundedPair<T>(x[4], x[5]), RoundedPair<T>(x[6], x[7]));
}

// Queries times `factor`; those that a tile has not are zeros.
template <class T, int kDims, class Memory>
__device__ __forceinline__ void LoadQueries(const AttendArguments& a, const AttentionTask& task,
                                            float factor, const Memory& memory) {
  constexpr int kUnits = kDims / kVector;
  const int count = static_cast<int>(blockDim.x) / kWarp * kWarpQueries;
  const int head_dim = a.pages.head_dim;
  const float* q = AreSinks(task.tile.reads) ? a.queries.sinks_q : a.queries.q;
  for (int i = threadIdx.x; i < count * kUnits; i += blockDim.x) {
    const int n = i / kUnits;
    const int dim = i % kUnits * kVector;
    float query[kVector] = {};
    if (n < task.queries && dim < head_dim) {
      const std::int64_t row = task.RowOf(a, n).row;
      const float* from = q + (row * a.queries.heads + task.HeadOf(n)) * head_dim + dim;
      UNROLLED for (int d = 0; d < kVector; ++d) query[d] = from[d] * factor;
    }
    StoreRounded<T>(memory.queries + (n * Memory::kRow + dim), query);
  }
}

// Where the keys lie in memory that the tile sees of the chunk that begins at `first_key`.
template <KvFormat kFormat, class Memory>
__device__ __forceinline__ void FindKeys(const AttendArguments& a, const AttentionTask& task,
                                         int first_key, const Memory& memory) {
  const KeyRange& some = task.tile.some;
  const std::int32_t* table =
      a.work.tables + (task.tile.first_page + task.kv_head * task.tile.pages_per_head);
  for (int i = threadIdx.x; i < kChunkKeys; i += blockDim.x) {
    const int key = first_key + i;
    if (key < some.begin || key >= some.end) continue;
    if (IsOwn(task.tile.reads)) {
      memory.places[i] = a.pages.KeyAt(0, 0, task.kv_head, key - task.tile.own_first);
      continue;
    }
    const std::int32_t page = table[key / a.pages.page_size];
    const std::int32_t slot = key % a.pages.page_size;
    memory.places[i] = a.pages.KeyAt(page, a.layer, task.kv_head, slot);
    if constexpr (Memory::kHasPlacesBeside)
      memory.places_beside[i] = ScalePlace<kFormat>(a.pages, page, a.layer, task.kv_head, slot);
  }
  __syncthreads();
}

// Eight numbers of the key at place i of the chunk, and of its value, to where they go. Those of 16
// bits arrive when they are waited for.
template <KvFormat kFormat, class Memory>
__device__ __forceinline__ void LoadVectors(const AttendArguments& a, const AttentionTask& task,
                                            int i, int dim, const Memory& memory,
                                            Shared<std::uint16_t> key,
                                            Shared<std::uint16_t> value) {
  using T = ProductType<kFormat>;
  const std::int64_t place = memory.places[i];
  if constexpr (kFormat == KvFormat::kF16 || kFormat == KvFormat::kBf16) {
    const auto* from = reinterpret_cast<const std::uint16_t*>(task.memory + place) + dim;
    CopyAsync16(key, from);
    CopyAsync16(value, from + a.pages.values_after() / 2);
  } else {
    float numbers[2][kVector];
    if constexpr (kFormat == KvFormat::kInt4) {
      const std::int64_t slot = memory.places_beside[i];
      LoadKey<kFormat>(a.pages, task.memory, place, slot, dim, numbers[0]);
      LoadValue<kFormat>(a.pages, task.memory, place, slot, dim, numbers[1]);
    } else {
      LoadNumbers<kFormat>(task.memory + place + dim, 1.0F, numbers[0]);
      LoadNumbers<kFormat>(task.memory + place + a.pages.values_after() + dim, 1.0F, numbers[1]);
    }
    StoreRounded<T>(key, numbers[0]);
    StoreRounded<T>(value, numbers[1]);
  }
}

// Keys first .. first + kKeys - 1, of one chunk, and their values.
template <KvFormat kFormat, int kDims, class Memory>
__device__ __forceinline__ void LoadKeys(const AttendArguments& a, const AttentionTask& task,
                                         int first, const Memory& memory,
                                         const KeyBlock<Memory>& block) {
  constexpr int kUnits = kDims / kVector;
  for (int n = threadIdx.x; n < Memory::kKeys * kUnits; n += blockDim.x) {
    const int j = n / kUnits;
    const int dim = n % kUnits * kVector;
    const int i = (first + j) % kChunkKeys;
    const bool seen = first + j >= task.tile.some.begin && first + j < task.tile.some.end;
    const Shared<std::uint16_t> key = block.keys + (j * Memory::kRow + dim);
    const Shared<std::uint16_t> value = block.values + (j * Memory::kRow + dim);
    if (seen && dim < a.pages.head_dim) {
      LoadVectors<kFormat>(a, task, i, dim, memory, key, value);
    } else {
      StoreZeros(key);
      StoreZeros(value);
    }
    if constexpr (kFormat == KvFormat::kInt8) {
      if (dim != 0) continue;
      const auto* scales =
          reinterpret_cast<const Half*>(task.memory + (seen ? memory.places_beside[i] : 0));
      block.scales[j] = seen ? ToFloat(scales[0]) : 0.0F;
      block.scales[Memory::kKeys + j] = seen ? ToFloat(scales[a.pages.page_size]) : 0.0F;
    }
  }
  CommitCopies();
}

// A weight of 0 does not silence a value that is not finite. Where rows of the tile do not see all
// its keys, such a value becomes 0 and its key NaN, which shows to those that see it and to no
// other. A key is one thread's.
template <KvFormat kFormat, int kDims, class Memory>
__device__ __forceinline__ void SilenceValues(const KeyBlock<Memory>& block) {
  constexpr std::uint32_t kHigh = kExponent<ProductType<kFormat>> << 16;
  constexpr std::uint32_t kLow = kExponent<ProductType<kFormat>>;
  const auto is_finite = [](std::uint32_t pair) {
    return (pair & kHigh) != kHigh && (pair & kLow) != kLow;
  };
  for (int j = threadIdx.x; j < Memory::kKeys; j += blockDim.x) {
    bool finite = true;
    for (int dim = 0; dim < kDims; dim += kVector) {
      const uint4 pairs = As<uint4>(block.values + (j * Memory::kRow + dim))[0];
      if (is_finite(pairs.x) && is_finite(pairs.y) && is_finite(pairs.z) && is_finite(pairs.w))
        continue;
      StoreZeros(block.values + (j * Memory::kRow + dim));
      finite = false;
    }
    if constexpr (kFormat == KvFormat::kInt8) {
      const float scale = block.scales[Memory::kKeys + j];
      if (!(fabsf(scale) < INFINITY)) {
        block.scales[Memory::kKeys + j] = 0.0F;
        finite = false;
      }
    }
    if (!finite) block.keys[j * Memory::kRow] = kNotANumber;
  }
  __syncthreads();
}

}  // namespace banyan::kernels::cuda
