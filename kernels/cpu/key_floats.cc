#include "kernels/cpu/key_floats.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "kernels/half.h"
#include "kernels/require.h"
#include "kernels/small_floats.h"

namespace banyan::kernels {
namespace {

float Widen(F16 /*format*/, std::uint16_t number) { return HalfToFloat(number); }
float Widen(Bf16 /*format*/, std::uint16_t number) { return Bf16ToFloat(number); }
float Widen(Fp8 /*format*/, std::uint8_t number) { return Fp8InUnits(number); }
float Widen(Int8 /*format*/, std::int8_t number) { return number; }

// `count` numbers beside each other, each to the `to_stride`-th place behind the one before.
template <class F>
void WidenAll(const std::byte* from, std::int32_t count, std::int32_t to_stride, float* to) {
  using Number = typename F::Number;
  for (std::int32_t i = 0; i < count; ++i, from += sizeof(Number)) {
    Number number;
    std::memcpy(&number, from, sizeof number);
    to[i * to_stride] = Widen(F(), number);
  }
}

// What a key's numbers are multiplied with; the first of them is at `key`.
template <class F>
float Factor(const std::byte* key, const std::uint16_t* scale) {
  if constexpr (F::kHasScales) return HalfToFloat(*scale);
  if constexpr (std::is_same_v<F, Fp8>) {
    if ((static_cast<Fp8::Number>(*key) & 0x7f) == Fp8::kNaN)
      return std::numeric_limits<float>::quiet_NaN();
  }
  return F::kUnit;
}

template <class F>
void Read(const PageStore& pages, const KeyTile& which, float* tile, float* factors) {
  const KvShape& shape = pages.shape();
  const auto end =
      static_cast<int>(std::min<std::int64_t>(which.last_slot + 1 - which.first_slot, kTileKeys));
  const std::int32_t stride = pages.key_stride();
  std::fill_n(factors, kTileKeys, 0.0F);
  for (int i = 0; i < end; ++i) {
    const std::int64_t at = which.first_slot + i;
    const std::int32_t page = which.run->page(at / shape.page_size);
    const auto slot = static_cast<std::int32_t>(at % shape.page_size);
    const std::byte* key = pages.Key(page, which.layer, which.kv_head, slot);
    const std::uint16_t* scale =
        F::kHasScales ? pages.KeyScale(page, which.layer, which.kv_head, slot) : nullptr;
    factors[i] = Factor<F>(key, scale);
    if (stride == kTileKeys && i == 0) WidenAll<F>(key, shape.head_dim * kTileKeys, 1, tile);
    if (stride == 1) WidenAll<F>(key, shape.head_dim, kTileKeys, tile + i);
  }
}

}  // namespace

void ReadKeys(const PageStore& pages, const KeyTile& which, float* tile, float* factors) {
  switch (pages.shape().format) {
    case KvFormat::kF16:
      return Read<F16>(pages, which, tile, factors);
    case KvFormat::kBf16:
      return Read<Bf16>(pages, which, tile, factors);
    case KvFormat::kFp8:
      return Read<Fp8>(pages, which, tile, factors);
    case KvFormat::kInt8:
      return Read<Int8>(pages, which, tile, factors);
    case KvFormat::kInt4:
      RequireFailed("slots of sealed pages are not told apart");
  }
}

}  // namespace banyan::kernels
