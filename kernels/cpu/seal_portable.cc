// Tiles of keys and values in 4 bits.

#include <algorithm>
#include <cmath>

#include "kernels/cpu/portable.h"
#include "kernels/half.h"

namespace banyan::kernels::portable {
namespace {

constexpr std::uint16_t kHalfInfinity = 0x7c00;
constexpr std::uint16_t kHalfNaN = 0x7e00;

// Of `count` halves.
struct Extent {
  float least;
  float greatest;
  bool finite;
};
Extent ExtentOf(const std::uint16_t* halves, int count) {
  Extent out = {HalfToFloat(halves[0]), HalfToFloat(halves[0]), true};
  for (int i = 0; i < count; ++i) {
    const float x = HalfToFloat(halves[i]);
    out.least = x < out.least ? x : out.least;
    out.greatest = x > out.greatest ? x : out.greatest;
    out.finite = out.finite && (halves[i] & 0x7fff) < kHalfInfinity;
  }
  return out;
}

// x / scale to nearest even, and `zero`, within the codes.
int Code(std::uint16_t x, float scale, int zero) {
  const int code = static_cast<int>(std::nearbyint(HalfToFloat(x) / scale)) + zero;
  return std::clamp(code, 0, kGreatestCode);
}

void PutCode(int code, bool high, std::byte* at) {
  *at = high ? *at | static_cast<std::byte>(code << 4) : static_cast<std::byte>(code);
}

}  // namespace

void SealKeys(const std::uint16_t* keys, int head_dim, const SealedKeys& out) {
  for (int d = 0; d < head_dim; ++d, keys += kTileKeys) {
    const Extent extent = ExtentOf(keys, kTileKeys);
    const float most = std::max(extent.greatest, -extent.least);
    const float step = (extent.greatest - extent.least) / kGreatestCode;
    const std::uint16_t half =
        FloatToHalf(std::max(step, most / 127.0F)) & 0x7fff;  // 0 has no sign
    out.scales[d] = extent.finite ? half : kHalfNaN;
    const bool codes = extent.finite && half != 0;
    const float scale = HalfToFloat(half);
    const int zero = codes ? static_cast<int>(std::nearbyint(-extent.least / scale)) : 0;
    out.zeros[d] = static_cast<std::int8_t>(std::clamp(zero, -127, 127));
    for (int i = 0; i < kTileKeys; ++i)
      PutCode(codes ? Code(keys[i], scale, out.zeros[d]) : 0, d % 2 == 1,
              out.codes + d / 2 * kTileKeys + i);
  }
}

void SealValues(const std::uint16_t* values, int head_dim, const SealedValues& out) {
  for (int i = 0; i < kTileKeys; ++i) {
    for (int d = 0; d < head_dim; d += kSealedDims, values += kSealedDims) {
      const Extent extent = ExtentOf(values, kSealedDims);
      const float most = extent.greatest >= -extent.least ? extent.greatest : extent.least;
      std::uint16_t half = FloatToHalf(most / -8.0F);
      if ((half & 0x7fff) == 0) half = 0;  // has no sign
      out.scales[d / kSealedDims * kTileKeys + i] = extent.finite ? half : kHalfNaN;
      const bool codes = extent.finite && half != 0;
      const float scale = HalfToFloat(half);
      std::byte* to = out.codes + (std::int64_t{i} * head_dim + d) / 2;
      for (int j = 0; j < kSealedDims; ++j)
        PutCode(codes ? Code(values[j], scale, kValueZero) : kValueZero, j >= kSealedDims / 2,
                to + j % (kSealedDims / 2));
    }
  }
}

}  // namespace banyan::kernels::portable
