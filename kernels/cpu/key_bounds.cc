#include "kernels/cpu/key_bounds.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "kernels/cpu/key_floats.h"
#include "kernels/small_floats.h"

namespace banyan::kernels {
namespace {

constexpr int kLanes = 8;
constexpr std::uint16_t kNaN = 0x7fc0;

// The greatest bf16 that is not above x. Not for NaN.
std::uint16_t RoundDown(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const bool is_cut = (bits & 0xffffU) != 0;
  const bool is_negative = bits >> 31 != 0;
  return static_cast<std::uint16_t>((bits >> 16) + (is_cut && is_negative ? 1U : 0U));
}
std::uint16_t RoundUp(float x) { return static_cast<std::uint16_t>(RoundDown(-x) ^ 0x8000U); }

// By one fixed tree.
template <class F>
float OfTile(const float (&v)[kTileKeys], const F& f) {
  float lanes[kTileKeys];
  std::copy_n(v, kTileKeys, lanes);
  for (int half = kTileKeys / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] = f(lanes[i], lanes[i + half]);
  return lanes[0];
}

float Less(float a, float b) { return b < a ? b : a; }
float Greater(float a, float b) { return b > a ? b : a; }

}  // namespace

void ReadKeyBounds(const PageStore& pages, std::int32_t page, std::int32_t layer,
                   std::int32_t kv_head, std::uint16_t* least, std::uint16_t* greatest) {
  const KvShape& shape = pages.shape();
  const std::int32_t dims = shape.head_dim;
  const RowRun run = {.pages = {&page, 1}};
  float tile[KvShape::kMaxHeadDim * kTileKeys];
  float factors[kTileKeys];
  float low[KvShape::kMaxHeadDim];
  float high[KvShape::kMaxHeadDim];
  bool is_finite = true;
  for (std::int32_t slot = 0; slot < shape.page_size; slot += kTileKeys) {
    ReadKeys(pages,
             {.run = &run,
              .layer = layer,
              .kv_head = kv_head,
              .first_slot = slot,
              .last_slot = shape.page_size - 1},
             tile, factors);
    const int keys = std::min(shape.page_size - slot, kTileKeys);
    for (std::int32_t d = 0; d < dims; ++d) {
      float numbers[kTileKeys];
      // In places of keys that there are not is the first.
      for (int i = 0; i < kTileKeys; ++i) {
        const int key = i < keys ? i : 0;
        numbers[i] = factors[key] * tile[d * kTileKeys + key];
      }
      for (const float number : numbers) is_finite = is_finite && number - number == 0.0F;
      const float lowest = OfTile(numbers, Less);
      const float highest = OfTile(numbers, Greater);
      low[d] = slot == 0 ? lowest : Less(low[d], lowest);
      high[d] = slot == 0 ? highest : Greater(high[d], highest);
    }
  }
  for (std::int32_t d = 0; d < dims; ++d) {
    least[d] = is_finite ? RoundDown(low[d]) : kNaN;
    greatest[d] = is_finite ? RoundUp(high[d]) : kNaN;
  }
}

float BoundScore(const float* q, const std::uint16_t* least, const std::uint16_t* greatest,
                 std::int32_t head_dim) {
  float sums[kLanes] = {};
  for (std::int32_t at = 0; at < head_dim; at += kLanes) {
    for (int i = 0; i < kLanes; ++i) {
      const std::int32_t d = at + i;
      const float low = q[d] * Bf16ToFloat(least[d]);
      const float high = q[d] * Bf16ToFloat(greatest[d]);
      sums[i] += high > low ? high : low;
    }
  }
  const float sum =
      ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
  return sum - sum == 0.0F ? sum : std::numeric_limits<float>::infinity();
}

}  // namespace banyan::kernels
