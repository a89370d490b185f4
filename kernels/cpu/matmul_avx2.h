// What the matrix products of all formats share; each *_avx2.cc file has its own copy.
//
// Lane r of an accumulator belongs to row r of a tile and sums over the columns in increasing
// order, one fused multiply-add at a time, whatever the number of input rows: a register tile of
// several does to each of them exactly what a tile of one does.
//
// A format is one of tile_loop.h with
//   Dot<kRows>(work, tile, row, ahead, sums)  adds to sums[h][r] the products of half h of the tile
//                                             (eight rows) and input row `row` + r.
// Loops over the registers of a register tile are all unrolled: a single one that is not would keep
// it in memory.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/ops.h"
#include "kernels/cpu/tile_loop.h"

namespace banyan::kernels::avx2 {
namespace {

[[maybe_unused]] inline __m256i Broadcast4(const void* at) {
  int four;
  __builtin_memcpy(&four, at, sizeof four);
  return _mm256_set1_epi32(four);
}

[[maybe_unused]] inline __m256 LoadHalves(const std::byte* at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}

[[maybe_unused]] inline __m256i Load(const std::byte* at) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
}

// Keeps compilers from regrouping a chain of integer sums into a tree that does not fit the
// registers.
[[maybe_unused]] inline void Pin(__m256i& value) { __asm__("" : "+x"(value)); }

constexpr int kHalves = 2;
template <int kRows>
using Sums = __m256[kHalves][kRows];

struct Registers {
  template <class Format, int kRows>
  [[gnu::noinline]] static void Tile(const MatMulWork& work, std::int64_t tile, std::int32_t row,
                                     Ahead& ahead) {
    Sums<kRows> sums;
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h)
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) sums[h][r] = _mm256_setzero_ps();
    const std::byte* weights = work.tiles + tile * work.depth * Format::kTileBytes;
    Format::template Dot<kRows>(work, weights, row, ahead, sums);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      float* out = work.out + (row + r) * work.out_stride + tile * kTileRows;
#pragma GCC unroll 2
      for (int h = 0; h < kHalves; ++h, out += kTileRows / kHalves) {
        // The whole sum is added at once, so that adding does not change its bits.
        const __m256 sum = work.store == Store::kAdd
                               ? _mm256_add_ps(_mm256_loadu_ps(out), sums[h][r])
                               : sums[h][r];
        _mm256_storeu_ps(out, sum);
      }
    }
  }
};

template <class Format>
void Product(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  AllTiles<Registers, Format>(work, first, last);
}

// What formats of units (tiles.h) share; theirs is
//   DotUnit<kRows>(head, unit, x, stride, sums)  adds the products of one unit, of a block whose
//                                                head is at `head`, and blocks x[r * stride] of
//                                                the input.
template <class Format, TileLayout kTile>
struct OfUnits {
  static constexpr int kTileBytes = kTile.tile_bytes;
  static constexpr int kUnits = kTile.block / kQuantBlock;
  // The sums of six rows leave four registers; 8 bits also need magnitudes there.
  static constexpr int kMaxRows = kTile.low_bits == 8 ? 4 : 6;
  // The high bits of codes are loaded before most of what lies below them.
  static constexpr bool kInOrder = kTile.high_bits == 0;
  static constexpr int kInputBytes = kUnits * static_cast<int>(sizeof(QuantBlock));

  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row, Ahead& ahead,
                  Sums<kRows>& sums) {
    const QuantBlock* x = work.quants + row * work.quant_stride;
    for (std::int64_t b = 0; b < work.depth; ++b, tile += kTileBytes) {
      const std::byte* unit = tile + kTile.head_bytes;
      for (int u = 0; u < kUnits; ++u, ++x, unit += kTile.unit_bytes) {
        FetchAhead<OfUnits, kRows, kTileBytes / kUnits>(ahead);
        Format::template DotUnit<kRows>(tile, unit, x, work.quant_stride, sums);
      }
    }
  }
};

}  // namespace
}  // namespace banyan::kernels::avx2
