#include "kernels/cpu/key_bounds.h"

#include <algorithm>
#include <bit>

#include "kernels/cpu/key_floats.h"

namespace banyan::kernels {
namespace {

constexpr std::uint16_t kNaN = 0x7fc0;

// The greatest bf16 that is not above x. Not for NaN.
std::uint16_t RoundDown(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const bool is_cut = (bits & 0xffffU) != 0;
  const bool is_negative = bits >> 31 != 0;
  return static_cast<std::uint16_t>((bits >> 16) + (is_cut && is_negative ? 1U : 0U));
}
std::uint16_t RoundUp(float x) { return static_cast<std::uint16_t>(RoundDown(-x) ^ 0x8000U); }

float Less(float a, float b) { return b < a ? b : a; }
float Greater(float a, float b) { return b > a ? b : a; }

// Of a dimension of a tile.
template <class F>
float OfTile(const float* numbers, const F& f) {
  static_assert(kTileKeys == 16);
  float v[4];
  for (int i = 0; i < 4; ++i)
    v[i] = f(f(numbers[i], numbers[i + 4]), f(numbers[i + 8], numbers[i + 12]));
  return f(f(v[0], v[2]), f(v[1], v[3]));
}

// Numbers of a tile's first keys as they are; in place of others is the first key.
void Scale(const float* factors, std::int32_t dims, std::int32_t keys, float* tile) {
  for (std::int32_t d = 0; d < dims; ++d, tile += kTileKeys) {
    for (int i = 0; i < kTileKeys; ++i) tile[i] *= factors[i];
    for (int i = keys; i < kTileKeys; ++i) tile[i] = tile[0];
  }
}

}  // namespace

void ReadKeyBounds(const Ops& ops, const PageStore& pages, std::int32_t page, std::int32_t layer,
                   std::int32_t kv_head, std::uint16_t* least, std::uint16_t* greatest) {
  const KvShape& shape = pages.shape();
  const std::int32_t dims = shape.head_dim;
  const RowRun run = {.pages = {&page, 1}};
  float tile[KvShape::kMaxHeadDim * kTileKeys];
  float factors[kTileKeys];
  float low[KvShape::kMaxHeadDim];
  float high[KvShape::kMaxHeadDim];
  float odd[kTileKeys] = {};  // NaN where a number is not finite
  for (std::int32_t slot = 0; slot < shape.page_size; slot += kTileKeys) {
    ReadKeys(ops, pages,
             {.run = &run,
              .layer = layer,
              .kv_head = kv_head,
              .first_slot = slot,
              .last_slot = shape.page_size - 1},
             tile, factors);
    Scale(factors, dims, std::min(shape.page_size - slot, kTileKeys), tile);
    for (std::int32_t d = 0; d < dims; ++d) {
      const float* numbers = tile + d * kTileKeys;
      for (int i = 0; i < kTileKeys; ++i) odd[i] += numbers[i] - numbers[i];
      const float lowest = OfTile(numbers, Less);
      const float highest = OfTile(numbers, Greater);
      low[d] = slot == 0 ? lowest : Less(low[d], lowest);
      high[d] = slot == 0 ? highest : Greater(high[d], highest);
    }
  }
  const bool is_finite = std::ranges::all_of(odd, [](float x) { return x == 0.0F; });
  for (std::int32_t d = 0; d < dims; ++d) {
    least[d] = is_finite ? RoundDown(low[d]) : kNaN;
    greatest[d] = is_finite ? RoundUp(high[d]) : kNaN;
  }
}

}  // namespace banyan::kernels
