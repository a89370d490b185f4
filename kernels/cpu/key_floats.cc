#include "kernels/cpu/key_floats.h"

#include <algorithm>
#include <limits>

#include "kernels/cpu/variants.h"
#include "kernels/half.h"

namespace banyan::kernels {
namespace {

// What the numbers of a slot's key are multiplied with.
float Factor(const PageStore& pages, const KeyTile& which, std::int32_t page, std::int32_t slot) {
  if (pages.has_scales())
    return HalfToFloat(*pages.KeyScale(page, which.layer, which.kv_head, slot));
  if (pages.shape().format != KvFormat::kFp8) return 1.0F;
  const auto first = static_cast<Fp8::Number>(*pages.Key(page, which.layer, which.kv_head, slot));
  return (first & 0x7f) == Fp8::kNaN ? std::numeric_limits<float>::quiet_NaN() : Fp8::kUnit;
}

}  // namespace

void ReadKeys(const Ops& ops, const PageStore& pages, const KeyTile& which, float* tile,
              float* factors) {
  const KvShape& shape = pages.shape();
  const KvOps& kv = KvOpsOf(ops, shape.format);
  const auto end =
      static_cast<int>(std::min<std::int64_t>(which.last_slot + 1 - which.first_slot, kTileKeys));
  std::fill_n(factors, kTileKeys, 0.0F);
  for (int i = 0; i < end; ++i) {
    const std::int64_t at = which.first_slot + i;
    const std::int32_t page = which.run->page(at / shape.page_size);
    const auto slot = static_cast<std::int32_t>(at % shape.page_size);
    const std::byte* key = pages.Key(page, which.layer, which.kv_head, slot);
    factors[i] = Factor(pages, which, page, slot);
    if (pages.key_stride() == kTileKeys) {
      if (i == 0) kv.widen(key, std::int64_t{shape.head_dim} * kTileKeys, tile);
      continue;
    }
    float numbers[KvShape::kMaxHeadDim];
    kv.widen(key, shape.head_dim, numbers);
    for (std::int32_t d = 0; d < shape.head_dim; ++d) tile[d * kTileKeys + i] = numbers[d];
  }
}

}  // namespace banyan::kernels
