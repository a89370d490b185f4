// Pages that are full, sealed in 4 bits: what kernels/cpu/int4_ops.h says, to its bits. And open
// pages that a step goes on with, copied to where it stages them.

#include "kernels/cuda/device.h"
#include "kernels/cuda/kernels.h"

namespace banyan::kernels::cuda {
namespace {

constexpr int kThreads = 128;
constexpr int kTokens = SealedTile::kTokens;
constexpr int kValueDims = SealedTile::kValueDims;
constexpr int kGreatestCode = 15;
constexpr int kValueZero = 8;
constexpr std::uint16_t kInfinity = 0x7c00;
constexpr std::uint16_t kNaN = 0x7e00;

struct Extent {
  float least = INFINITY;
  float greatest = -INFINITY;
  bool finite = true;

  __device__ void Take(Half number) {
    const float x = ToFloat(number);
    least = fminf(least, x);
    greatest = fmaxf(greatest, x);
    finite = finite && (number.bits & 0x7fff) < kInfinity;
  }
};

// How the numbers of an extent become codes.
struct Coding {
  Half scale;
  int zero;    // the code of 0
  bool codes;  // else all are `zero`

  __device__ int Of(Half x) const {
    if (!codes) return zero;
    const int code = static_cast<int>(rintf(ToFloat(x) / ToFloat(scale))) + zero;
    return code < 0 ? 0 : code > kGreatestCode ? kGreatestCode : code;
  }
};

__device__ __forceinline__ Coding OfKeys(const Extent& extent) {
  if (!extent.finite) return {{kNaN}, 0, false};
  const float most = fmaxf(extent.greatest, -extent.least);
  const float step = (extent.greatest - extent.least) / kGreatestCode;
  Coding coding{Rounded<Half>(fmaxf(step, most / 127.0F)), 0, true};
  coding.scale.bits &= 0x7fff;  // 0 has no sign
  coding.codes = coding.scale.bits != 0;
  if (!coding.codes) return coding;
  const int zero = static_cast<int>(rintf(-extent.least / ToFloat(coding.scale)));
  coding.zero = zero < -127 ? -127 : zero > 127 ? 127 : zero;
  return coding;
}

__device__ __forceinline__ Coding OfValues(const Extent& extent) {
  if (!extent.finite) return {{kNaN}, kValueZero, false};
  const float most = extent.greatest >= -extent.least ? extent.greatest : extent.least;
  Coding coding{Rounded<Half>(most / -8.0F), kValueZero, true};
  if ((coding.scale.bits & 0x7fff) == 0) coding.scale.bits = 0;  // has no sign
  coding.codes = coding.scale.bits != 0;
  return coding;
}

__device__ __forceinline__ std::byte Pair(int low, int high) {
  return static_cast<std::byte>(low | high << 4);
}

// A thread has two dimensions of sixteen keys, whose codes share bytes.
__device__ __forceinline__ void SealKeys(const Half* keys, int head_dim, std::byte* head,
                                         const SealedTile& tile) {
  auto* scales = reinterpret_cast<Half*>(head + tile.key_scales);
  auto* zeros = reinterpret_cast<std::int8_t*>(head + tile.key_zeros);
  for (int pair = threadIdx.x; pair < head_dim / 2; pair += kThreads) {
    Extent extents[2];
    for (int i = 0; i < kTokens; ++i)
      for (int n = 0; n < 2; ++n) extents[n].Take(keys[i * head_dim + 2 * pair + n]);
    const Coding low = OfKeys(extents[0]);
    const Coding high = OfKeys(extents[1]);
    for (int i = 0; i < kTokens; ++i) {
      const Half* key = keys + i * head_dim + 2 * pair;
      head[tile.key_codes + pair * kTokens + i] = Pair(low.Of(key[0]), high.Of(key[1]));
    }
    scales[2 * pair] = low.scale;
    scales[2 * pair + 1] = high.scale;
    zeros[2 * pair] = static_cast<std::int8_t>(low.zero);
    zeros[2 * pair + 1] = static_cast<std::int8_t>(high.zero);
  }
}

// A thread has 32 dimensions of a value, which share a scale.
__device__ __forceinline__ void SealValues(const Half* values, int head_dim, std::byte* head,
                                           const SealedTile& tile) {
  auto* scales = reinterpret_cast<Half*>(head + tile.value_scales);
  for (int unit = threadIdx.x; unit < kTokens * (head_dim / kValueDims); unit += kThreads) {
    const int i = unit % kTokens;
    const int first = unit / kTokens * kValueDims;
    const Half* value = values + i * head_dim + first;
    Extent extent;
    for (int d = 0; d < kValueDims; ++d) extent.Take(value[d]);
    const Coding coding = OfValues(extent);
    std::byte* to = head + tile.value_codes + (i * head_dim + first) / 2;
    for (int d = 0; d < kValueDims / 2; ++d)
      to[d] = Pair(coding.Of(value[d]), coding.Of(value[d + kValueDims / 2]));
    scales[unit / kTokens * kTokens + i] = coding.scale;
  }
}

// A block has a tile of one head.
__global__ void SealPagesKernel(const PagePair* __restrict__ full, KvPages kv, int layer) {
  const PageView& open = kv.open.open;
  const int tiles = open.page_size / kTokens;
  const PagePair page = full[blockIdx.x / tiles];
  const int number = static_cast<int>(blockIdx.x) % tiles;
  const int kv_head = static_cast<int>(blockIdx.y);
  const std::byte* keys =
      kv.open.LayerOf(page.from, layer) + open.KeyAt(0, 0, kv_head, number * kTokens);
  std::byte* head = kv.pages.memory + kv.pages.KeyAt(page.to, layer, kv_head, 0);
  const SealedTile tile = SealedTile::At(kv.pages, number);
  SealKeys(reinterpret_cast<const Half*>(keys), open.head_dim, head, tile);
  SealValues(reinterpret_cast<const Half*>(keys + open.values_after()), open.head_dim, head, tile);
}

// A block has what a page holds of the layer.
__global__ void StagePagesKernel(const PagePair* __restrict__ begun, OpenView open, int layer) {
  const PagePair page = begun[blockIdx.x];
  const auto* from = reinterpret_cast<const uint4*>(open.LayerOf(page.from, layer));
  auto* to = reinterpret_cast<uint4*>(open.LayerOf(page.to, layer));
  const auto units = open.open.layer_bytes / static_cast<std::int64_t>(sizeof(uint4));
  for (std::int64_t i = threadIdx.x; i < units; i += kThreads) to[i] = from[i];
}

}  // namespace

void SealPages(Stream stream, const PagePair* full, std::int32_t count, const KvPages& kv,
               std::int32_t layer) {
  if (count == 0) return;
  const std::int32_t tiles = kv.pages.page_size / kTokens;
  Launch(SealPagesKernel,
         dim3(static_cast<unsigned>(count * tiles), static_cast<unsigned>(kv.pages.kv_heads)),
         kThreads, 0, stream, full, kv, layer);
}

void StagePages(Stream stream, const PagePair* begun, std::int32_t count, const OpenView& open,
                std::int32_t layer) {
  if (count == 0) return;
  Launch(StagePagesKernel, static_cast<unsigned>(count), kThreads, 0, stream, begun, open, layer);
}

}  // namespace banyan::kernels::cuda
