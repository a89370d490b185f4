// Matrix products of every tensor type.
//
// The sum of an output runs over the columns in increasing order. For quantized weights that is 32
// columns (a unit of tiles.h) after another: the products of their codes with the input's are exact
// integers, of which the sum has no order, and then
//   sum = fma(d * scale, integer, sum)                    with the scale of the input's block
//   sum = fma(offset, scale * (q[0] + .. + q[31]), sum)   for the types that have an offset
// Codes of 5 and 6 bits count from the middle of their range, for the sake of variants that keep
// integers in 16 bits; so a type with a minimum has the offset m + 16 d.

#include <algorithm>
#include <cstring>

#include "kernels/cpu/math_portable.h"
#include "kernels/cpu/portable.h"
#include "kernels/half.h"

namespace banyan::kernels::portable {
namespace {

// Input rows that share the work of taking weights apart.
constexpr int kGroupRows = 32;
using Sums = float[kGroupRows][kTileRows];

// `Format::Dot(work, tile, row, rows, sums)` sets sums[i] to the products of the tile at `tile`
// with input row `row` + i, i < rows.
template <class Format>
void Product(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  for (std::int64_t tile = first; tile < last; ++tile) {
    const std::byte* weights = work.tiles + tile * work.depth * Format::kTileBytes;
    for (std::int32_t row = 0; row < work.rows; row += kGroupRows) {
      const int rows = std::min(kGroupRows, work.rows - row);
      Sums sums = {};
      Format::Dot(work, weights, row, rows, sums);
      for (int i = 0; i < rows; ++i) {
        float* out = work.out + (row + i) * work.out_stride + tile * kTileRows;
        // The whole sum is added at once, so that adding does not change its bits.
        for (int r = 0; r < kTileRows; ++r)
          out[r] = work.store == Store::kAdd ? out[r] + sums[i][r] : sums[i][r];
      }
    }
  }
}

std::uint16_t LoadHalf(const std::byte* at) {
  std::uint16_t half;
  std::memcpy(&half, at, sizeof half);
  return half;
}

// A unit of a tile, taken apart.
template <TileLayout kTile>
struct Unit {
  static constexpr int kBits = kTile.low_bits + kTile.high_bits;
  static constexpr int kCentre = kBits == 5 ? 16 : kBits == 6 ? 32 : 0;
  static constexpr bool kOffset = kBits == 4 || kTile.halves == 2;
  static constexpr int kRuns = kTile.scales == 2 ? 2 : 1;  // of columns with a scale of their own

  Unit(const std::byte* head, const std::byte* unit) {
    TakeCodes(unit);
    TakeScales(head, unit);
  }

  // Four columns of every row after another, as they lie in memory; then row by row.
  void TakeCodes(const std::byte* unit) {
    constexpr int kFours = kQuantBlock / 4;
    constexpr int kFourOfRows = 4 * kTileRows;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(unit);
    std::int16_t fours[kFours][kFourOfRows];
    for (int k = 0; k < kFours; ++k) {
      for (int i = 0; i < kFourOfRows; ++i) {
        if constexpr (kBits == 8) {
          fours[k][i] = static_cast<std::int8_t>(bytes[kFourOfRows * k + i]);
        } else {
          const int pair = bytes[kFourOfRows * (k % 4) + i];
          int code = k < 4 ? pair & 15 : pair >> 4;
          if constexpr (kTile.high_bits != 0) {
            constexpr int kShared = 8 / kTile.high_bits;  // fours whose high bits share a byte
            const int high = bytes[kTile.high_at + kFourOfRows * (k / kShared) + i];
            const int bits = high >> kTile.high_bits * (k % kShared);
            code |= (bits & ((1 << kTile.high_bits) - 1)) << 4;
          }
          fours[k][i] = static_cast<std::int16_t>(code - kCentre);
        }
      }
    }
    for (int r = 0; r < kTileRows; ++r)
      for (int k = 0; k < kFours; ++k)
        std::memcpy(codes[r] + 4 * k, fours[k] + 4 * r, 4 * sizeof(std::int16_t));
  }

  void TakeScales(const std::byte* head, const std::byte* unit) {
    for (int r = 0; r < kTileRows; ++r) {
      d[r] = HalfToFloat(LoadHalf(head + 2 * r));
      if constexpr (kTile.scales == 1)
        d[r] *= static_cast<float>(std::to_integer<int>(unit[kTile.scales_at + r]));
      if constexpr (kTile.scales == 2)
        for (int g = 0; g < kRuns; ++g)
          run_scales[g][r] = static_cast<std::int8_t>(unit[kTile.scales_at + kTileRows * g + r]);
      if constexpr (kOffset) offset[r] = OffsetOf(head, unit, r);
    }
  }

  float OffsetOf(const std::byte* head, const std::byte* unit, int r) const {
    if constexpr (kTile.halves == 1) return d[r] * -8.0F;  // Q4_0
    float m = HalfToFloat(LoadHalf(head + 2 * (kTileRows + r)));
    if constexpr (kTile.mins != 0)
      m = 0.0F - m * static_cast<float>(std::to_integer<int>(unit[kTile.mins_at + r]));
    if constexpr (kCentre != 0) m = Fma(d[r], kCentre, m);
    return m;
  }

  // The integer part of row r's products with q.
  std::int32_t Integer(int r, const std::int16_t (&q)[kQuantBlock]) const {
    constexpr int kColumns = kQuantBlock / kRuns;
    std::int32_t integer = 0;
    for (int g = 0; g < kRuns; ++g) {
      std::int32_t run = 0;
      for (int i = 0; i < kColumns; ++i) run += codes[r][kColumns * g + i] * q[kColumns * g + i];
      integer += kRuns == 1 ? run : run * run_scales[g][r];
    }
    return integer;
  }

  void AddProducts(const QuantBlock& x, float (&sums)[kTileRows]) const {
    std::int16_t q[kQuantBlock];
    for (int i = 0; i < kQuantBlock; ++i) q[i] = x.q[i];
    std::int32_t integers[kTileRows];
    for (int r = 0; r < kTileRows; ++r) integers[r] = Integer(r, q);
    for (int r = 0; r < kTileRows; ++r)
      sums[r] = Fma(d[r] * x.scale, static_cast<float>(integers[r]), sums[r]);
    if constexpr (kOffset)
      for (int r = 0; r < kTileRows; ++r) sums[r] = Fma(offset[r], x.sum, sums[r]);
  }

  std::int16_t codes[kTileRows][kQuantBlock];
  float d[kTileRows];  // times the scale of 32 columns, where there is one
  float offset[kTileRows];
  std::int32_t run_scales[kRuns][kTileRows];
};

template <TileLayout kTile>
struct Quantized {
  static constexpr int kTileBytes = kTile.tile_bytes;

  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row, int rows,
                  Sums& sums) {
    const QuantBlock* x = work.quants + row * work.quant_stride;
    for (std::int64_t b = 0; b < work.depth; ++b, tile += kTileBytes) {
      const std::byte* at = tile + kTile.head_bytes;
      for (int u = 0; u < kTile.block / kQuantBlock; ++u, ++x, at += kTile.unit_bytes) {
        const Unit<kTile> unit(tile, at);
        for (int i = 0; i < rows; ++i) unit.AddProducts(x[i * work.quant_stride], sums[i]);
      }
    }
  }
};

float LoadF32(const std::byte* at) {
  float value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
float LoadF16(const std::byte* at) { return HalfToFloat(LoadHalf(at)); }
// The upper half of a float.
float LoadBF16(const std::byte* at) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(LoadHalf(at)) << 16);
}

template <int kBytes, float (*kLoad)(const std::byte*)>
struct Floats {
  static constexpr int kTileBytes = kTileRows * kBytes;

  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row, int rows,
                  Sums& sums) {
    const float* x = work.floats + row * work.float_stride;
    for (std::int64_t k = 0; k < work.depth; ++k, ++x, tile += kTileBytes) {
      float w[kTileRows];
      for (int r = 0; r < kTileRows; ++r) w[r] = kLoad(tile + r * kBytes);
      for (int i = 0; i < rows; ++i) {
        const float value = x[i * work.float_stride];
        for (int r = 0; r < kTileRows; ++r) sums[i][r] = Fma(w[r], value, sums[i][r]);
      }
    }
  }
};

}  // namespace

void MatMulF32(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Floats<4, LoadF32>>(work, first, last);
}

void MatMulF16(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Floats<2, LoadF16>>(work, first, last);
}

void MatMulBF16(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Floats<2, LoadBF16>>(work, first, last);
}

void MatMulQ4_0(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Quantized<kTileQ4_0>>(work, first, last);
}

void MatMulQ4_1(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Quantized<kTileQ4_1>>(work, first, last);
}

void MatMulQ5_0(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Quantized<kTileQ5_0>>(work, first, last);
}

void MatMulQ5_1(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Quantized<kTileQ5_1>>(work, first, last);
}

void MatMulQ8_0(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Quantized<kTileQ8_0>>(work, first, last);
}

void MatMulQ4_K(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Quantized<kTileQ4_K>>(work, first, last);
}

void MatMulQ5_K(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Quantized<kTileQ5_K>>(work, first, last);
}

void MatMulQ6_K(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  Product<Quantized<kTileQ6_K>>(work, first, last);
}

}  // namespace banyan::kernels::portable
