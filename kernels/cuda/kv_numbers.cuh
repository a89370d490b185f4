// How the numbers of a page are written and read, by format. What is written is what the CPU
// backend writes: a page's numbers mean the same to both.
#pragma once

#include "kernels/cuda/device.h"
#include "kernels/cuda/pages.h"
#include "kernels/cuda/reduce.cuh"
#include "kernels/kv_shape.h"

namespace banyan::kernels::cuda {

template <KvFormat kFormat>
struct KvNumber;
template <>
struct KvNumber<KvFormat::kF16> {
  using Type = Half;
};
template <>
struct KvNumber<KvFormat::kBf16> {
  using Type = Bf16;
};
template <>
struct KvNumber<KvFormat::kFp8> {
  using Type = Fp8;
};
template <>
struct KvNumber<KvFormat::kInt8> {
  using Type = std::int8_t;
};

// The greatest magnitude of a head, as the bits of it: infinity is above all numbers and NaN above
// infinity. By a warp.
__device__ __forceinline__ unsigned GreatestMagnitude(const float* x, int head_dim) {
  unsigned most = 0;
  for (int i = threadIdx.x % kWarp; i < head_dim; i += kWarp) {
    const unsigned magnitude = __float_as_uint(x[i]) & 0x7fffffffU;
    most = magnitude > most ? magnitude : most;
  }
  return __reduce_max_sync(kAllLanes, most);
}

// Rounds a head's key or value into a slot, by a warp.
template <KvFormat kFormat>
__device__ __forceinline__ void StoreHead(const float* x, int head_dim, std::byte* slot) {
  using Type = typename KvNumber<kFormat>::Type;
  auto* out = reinterpret_cast<Type*>(slot);
  for (int i = threadIdx.x % kWarp; i < head_dim; i += kWarp) out[i] = Rounded<Type>(x[i]);
}

__device__ __forceinline__ void StoreCodes(const float* x, int head_dim, std::byte* slot,
                                           Half* scale) {
  constexpr std::uint16_t kInfinity = 0x7c00;
  constexpr std::uint16_t kNaN = 0x7e00;
  auto* out = reinterpret_cast<std::int8_t*>(slot);
  Half kept = Rounded<Half>(__uint_as_float(GreatestMagnitude(x, head_dim)) / 127.0F);
  if (kept.bits >= kInfinity) kept.bits = kNaN;
  const bool codes = kept.bits != 0 && kept.bits != kNaN;
  const float step = ToFloat(kept);
  for (int i = threadIdx.x % kWarp; i < head_dim; i += kWarp) {
    const float code = codes ? rintf(x[i] / step) : 0.0F;
    out[i] = static_cast<std::int8_t>(fminf(fmaxf(code, -127.0F), 127.0F));
  }
  if (threadIdx.x % kWarp == 0) *scale = kept;
}

// Of one token and head, by a warp: a lane reads numbers lane, lane + 32, .. alone. `at` and
// `scale_at` are where the slot and its scale are (PageView).
template <KvFormat kFormat>
__device__ __forceinline__ void StoreKeyAndValue(const float* key, const float* value,
                                                 const PageView& pages, std::int64_t at,
                                                 std::int64_t scale_at) {
  const int head_dim = pages.head_dim;
  std::byte* to = pages.memory + at;
  std::byte* value_to = to + pages.values_after();
  if constexpr (kFormat == KvFormat::kInt8) {
    auto* scale = reinterpret_cast<Half*>(pages.memory + scale_at);
    StoreCodes(key, head_dim, to, scale);
    StoreCodes(value, head_dim, value_to, scale + pages.page_size);
  } else if constexpr (kFormat == KvFormat::kFp8) {
    // There is no infinity: a token with one or a NaN in its key or value is all NaN.
    constexpr unsigned kInfinity = 0x7f800000U;
    const unsigned key_most = GreatestMagnitude(key, head_dim);
    const unsigned value_most = GreatestMagnitude(value, head_dim);
    if (key_most < kInfinity && value_most < kInfinity) {
      StoreHead<kFormat>(key, head_dim, to);
      StoreHead<kFormat>(value, head_dim, value_to);
      return;
    }
    for (int i = threadIdx.x % kWarp; i < head_dim; i += kWarp)
      to[i] = value_to[i] = std::byte{Fp8::kNaN};
  } else {
    StoreHead<kFormat>(key, head_dim, to);
    StoreHead<kFormat>(value, head_dim, value_to);
  }
}

inline constexpr int kVector = 8;  // numbers that a lane reads at once

// Eight numbers from `at` on, which is aligned to as many of them.
template <class Type>
struct alignas(kVector * sizeof(Type)) KvVector {
  Type numbers[kVector];
};

template <KvFormat kFormat>
__device__ __forceinline__ void LoadNumbers(const std::byte* at, float scale,
                                            float (&out)[kVector]) {
  using Type = typename KvNumber<kFormat>::Type;
  const auto loaded = *reinterpret_cast<const KvVector<Type>*>(at);
  for (int i = 0; i < kVector; ++i) {
    if constexpr (kFormat == KvFormat::kInt8) {
      out[i] = static_cast<float>(loaded.numbers[i]) * scale;
    } else {
      out[i] = ToFloat(loaded.numbers[i]);
    }
  }
}

}  // namespace banyan::kernels::cuda
