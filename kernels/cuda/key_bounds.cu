// Bounds of the keys of pages, by a warp for each page, layer and head; a lane has eight
// dimensions.

#include "kernels/cuda/choices.h"
#include "kernels/cuda/device.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/kv_numbers.cuh"
#include "kernels/require.h"

namespace banyan::kernels::cuda {
namespace {

constexpr std::uint16_t kNaN = 0x7fc0;

// The greatest bf16 that is not above x, and the least that is not below. Not for NaN.
__device__ __forceinline__ std::uint16_t RoundDown(float x) {
  const unsigned bits = __float_as_uint(x);
  const bool is_cut = (bits & 0xffffU) != 0;
  const bool is_negative = bits >> 31 != 0;
  return static_cast<std::uint16_t>((bits >> 16) + (is_cut && is_negative ? 1U : 0U));
}
__device__ __forceinline__ std::uint16_t RoundUp(float x) {
  return static_cast<std::uint16_t>(RoundDown(-x) ^ 0x8000U);
}

template <KvFormat kFormat>
__global__ void __launch_bounds__(kWarp)
    KeyBoundsKernel(const std::int32_t* __restrict__ which, PageView pages,
                    std::int32_t first_layer, BoundsView bounds) {
  const std::int32_t page = which[blockIdx.x];
  const auto kv_head = static_cast<std::int32_t>(blockIdx.y);
  const std::int32_t layer = first_layer + static_cast<std::int32_t>(blockIdx.z);
  const int dim = static_cast<int>(threadIdx.x) * kVector;
  const bool has_dims = dim < pages.head_dim;
  float least[kVector];
  float greatest[kVector];
  bool is_finite = true;
  for (std::int32_t slot = 0; has_dims && slot < pages.page_size; ++slot) {
    float key[kVector];
    LoadKey<kFormat>(pages, pages.memory, pages.KeyAt(page, layer, kv_head, slot),
                     ScalePlace<kFormat>(pages, page, layer, kv_head, slot), dim, key);
    UNROLLED for (int i = 0; i < kVector; ++i) {
      is_finite = is_finite && key[i] - key[i] == 0.0F;
      least[i] = slot == 0 || key[i] < least[i] ? key[i] : least[i];
      greatest[i] = slot == 0 || key[i] > greatest[i] ? key[i] : greatest[i];
    }
  }
  const bool all_finite = __all_sync(kAllLanes, is_finite ? 1 : 0) != 0;
  if (!has_dims) return;
  Bf16* out = bounds.numbers + bounds.At(page, layer, kv_head) + dim;
  UNROLLED for (int i = 0; i < kVector; ++i) {
    out[i].bits = all_finite ? RoundDown(least[i]) : kNaN;
    out[bounds.head_dim + i].bits = all_finite ? RoundUp(greatest[i]) : kNaN;
  }
}

}  // namespace

void ReadKeyBounds(Stream stream, const std::int32_t* which, std::int32_t count,
                   const PageView& pages, std::int32_t first_layer, std::int32_t layers,
                   const BoundsView& bounds) {
  if (count == 0) return;
  Require(pages.head_dim % kVector == 0 && pages.head_dim <= kMaxHeadDim, "a warp holds a head");
  const dim3 grid(static_cast<unsigned>(count), static_cast<unsigned>(pages.kv_heads),
                  static_cast<unsigned>(layers));
  const auto launch = [&](auto kernel) {
    Launch(kernel, grid, kWarp, 0, stream, which, pages, first_layer, bounds);
  };
  switch (pages.format) {
    case KvFormat::kF16:
      return launch(KeyBoundsKernel<KvFormat::kF16>);
    case KvFormat::kBf16:
      return launch(KeyBoundsKernel<KvFormat::kBf16>);
    case KvFormat::kFp8:
      return launch(KeyBoundsKernel<KvFormat::kFp8>);
    case KvFormat::kInt8:
      return launch(KeyBoundsKernel<KvFormat::kInt8>);
    case KvFormat::kInt4:
      break;
  }
  RequireFailed("pages that are sealed have no bounds");
}

}  // namespace banyan::kernels::cuda
