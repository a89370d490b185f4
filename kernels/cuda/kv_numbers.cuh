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

// Of one token and head, by a warp: a lane reads numbers lane, lane + 32, .. alone. `to` is where
// the key goes, `scale` where its scale does.
template <KvFormat kFormat>
__device__ __forceinline__ void StoreKeyAndValue(const float* key, const float* value,
                                                 const PageView& pages, std::byte* to,
                                                 Half* scale) {
  const int head_dim = pages.head_dim;
  std::byte* value_to = to + pages.values_after();
  if constexpr (kFormat == KvFormat::kInt8) {
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

// What of a key is kept beside its place: where its scale is; of int4 the slot.
template <KvFormat kFormat>
__device__ __forceinline__ std::int64_t ScalePlace(const PageView& pages, std::int32_t page,
                                                   std::int32_t layer, std::int32_t kv_head,
                                                   std::int32_t slot) {
  return kFormat == KvFormat::kInt4 ? slot : pages.ScaleAt(page, layer, kv_head, slot);
}
// Read where the format has it.
template <KvFormat kFormat>
__device__ __forceinline__ std::int64_t ScaleOf(Shared<std::int64_t> scale_places, int j) {
  if constexpr (kFormat == KvFormat::kInt8 || kFormat == KvFormat::kInt4) return scale_places[j];
  return 0;
}

// Dimensions first_dim .. first_dim + 7 of the key at `place` of the memory.
template <KvFormat kFormat>
__device__ __forceinline__ void LoadKey(const PageView& pages, const std::byte* memory,
                                        std::int64_t place, std::int64_t scale_place, int first_dim,
                                        float (&out)[kVector]) {
  if constexpr (kFormat == KvFormat::kInt4) {
    const auto slot = static_cast<int>(scale_place);
    const SealedTile tile = SealedTile::At(pages, slot / SealedTile::kTokens);
    const std::byte* head = memory + place;
    const std::byte* codes =
        head + tile.key_codes + first_dim / 2 * SealedTile::kTokens + slot % SealedTile::kTokens;
    const auto scales =
        *reinterpret_cast<const KvVector<Half>*>(head + tile.key_scales + first_dim * 2);
    const auto zeros =
        *reinterpret_cast<const KvVector<std::int8_t>*>(head + tile.key_zeros + first_dim);
    for (int i = 0; i < kVector; ++i) {
      const auto two = static_cast<int>(codes[i / 2 * SealedTile::kTokens]);
      const int code = i % 2 == 0 ? two & 15 : two >> 4;
      out[i] = ToFloat(scales.numbers[i]) * static_cast<float>(code - zeros.numbers[i]);
    }
  } else {
    const float scale = kFormat == KvFormat::kInt8
                            ? ToFloat(*reinterpret_cast<const Half*>(memory + scale_place))
                            : 1.0F;
    constexpr int kBytes = sizeof(typename KvNumber<kFormat>::Type);
    LoadNumbers<kFormat>(memory + place + first_dim * kBytes, scale, out);
  }
}

// The same of its value.
template <KvFormat kFormat>
__device__ __forceinline__ void LoadValue(const PageView& pages, const std::byte* memory,
                                          std::int64_t place, std::int64_t scale_place,
                                          int first_dim, float (&out)[kVector]) {
  if constexpr (kFormat == KvFormat::kInt4) {
    constexpr int kZero = 8;
    constexpr int kDims = SealedTile::kValueDims;
    const auto slot = static_cast<int>(scale_place);
    const int in_tile = slot % SealedTile::kTokens;
    const SealedTile tile = SealedTile::At(pages, slot / SealedTile::kTokens);
    const std::byte* head = memory + place;
    const auto codes = *reinterpret_cast<const KvVector<std::uint8_t>*>(
        head + tile.value_codes + in_tile * pages.head_dim / 2 + first_dim / kDims * (kDims / 2) +
        first_dim % (kDims / 2));
    const float scale = ToFloat(reinterpret_cast<const Half*>(
        head + tile.value_scales)[first_dim / kDims * SealedTile::kTokens + in_tile]);
    const int shift = first_dim % kDims < kDims / 2 ? 0 : 4;
    for (int i = 0; i < kVector; ++i)
      out[i] = scale * static_cast<float>((codes.numbers[i] >> shift & 15) - kZero);
  } else {
    const std::int64_t scales = pages.page_size * static_cast<std::int64_t>(sizeof(Half));
    LoadKey<kFormat>(pages, memory, place + pages.values_after(), scale_place + scales, first_dim,
                     out);
  }
}

}  // namespace banyan::kernels::cuda
