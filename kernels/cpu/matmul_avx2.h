// What the matrix products of all formats share; each *_avx2.cc file has its own copy.
//
// Lane r of an accumulator belongs to row r of a tile and sums over the columns in increasing
// order, one fused multiply-add at a time, whatever the number of input rows: a register tile of
// four input rows does to each of them exactly what a tile of one does.
//
// A format has kTileBytes and kInputBytes of one step of MatMulWork::depth, and
//   Dot<kRows>(work, tile, row, sums)  adds to sums[h][r] the products of half h of the tile (eight
//                                      rows) and input row `row` + r.
// Loops over the registers of a register tile are all unrolled: a single one that is not would keep
// it in memory.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/ops.h"

namespace banyan::kernels::avx2 {
namespace {

constexpr int kMaxRows = 4;  // input rows of one register tile
// Input rows are walked in groups of about this many bytes, which stay in the second-level cache
// while the tiles of weights pass by.
constexpr std::int64_t kGroupBytes = 384 << 10;

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

template <class Format, int kRows>
void OneRegisterTile(const MatMulWork& work, std::int64_t tile, std::int32_t row) {
  Sums<kRows> sums;
#pragma GCC unroll 2
  for (int h = 0; h < kHalves; ++h)
#pragma GCC unroll 4
    for (int r = 0; r < kRows; ++r) sums[h][r] = _mm256_setzero_ps();
  const std::byte* weights = work.tiles + tile * work.depth * Format::kTileBytes;
  Format::template Dot<kRows>(work, weights, row, sums);
#pragma GCC unroll 4
  for (int r = 0; r < kRows; ++r) {
    float* out = work.out + (row + r) * work.out_stride + tile * kTileRows;
#pragma GCC unroll 2
    for (int h = 0; h < kHalves; ++h, out += kTileRows / kHalves) {
      // The whole sum is added at once, so that adding does not change its bits.
      const __m256 sum =
          work.store == Store::kAdd ? _mm256_add_ps(_mm256_loadu_ps(out), sums[h][r]) : sums[h][r];
      _mm256_storeu_ps(out, sum);
    }
  }
}

// Input rows begin .. end - 1, while one tile of weights stays in the first-level cache.
template <class Format>
void OneTile(const MatMulWork& work, std::int64_t tile, std::int32_t begin, std::int32_t end) {
  std::int32_t row = begin;
  for (; row + kMaxRows <= end; row += kMaxRows) OneRegisterTile<Format, kMaxRows>(work, tile, row);
  switch (end - row) {
    case 3:
      return OneRegisterTile<Format, 3>(work, tile, row);
    case 2:
      return OneRegisterTile<Format, 2>(work, tile, row);
    case 1:
      return OneRegisterTile<Format, 1>(work, tile, row);
    default:
      return;
  }
}

template <class Format>
void Product(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  auto group = static_cast<std::int32_t>(kGroupBytes / (work.depth * Format::kInputBytes));
  group = group < kMaxRows ? kMaxRows : group / kMaxRows * kMaxRows;
  for (std::int32_t begin = 0; begin < work.rows; begin += group) {
    const std::int32_t end = work.rows - begin < group ? work.rows : begin + group;
    for (std::int64_t tile = first; tile < last; ++tile) OneTile<Format>(work, tile, begin, end);
  }
}

// What formats of units (tiles.h) share; theirs is
//   DotUnit<kRows>(head, unit, x, stride, sums)  adds the products of one unit of a block whose
//   head
//                                                is at `head` and blocks x[r * stride] of the
//                                                input.
template <class Format, TileLayout kTile>
struct OfUnits {
  static constexpr int kTileBytes = kTile.tile_bytes;
  static constexpr int kUnits = kTile.block / kQuantBlock;
  static constexpr int kInputBytes = kUnits * static_cast<int>(sizeof(QuantBlock));

  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row,
                  Sums<kRows>& sums) {
    const QuantBlock* x = work.quants + row * work.quant_stride;
    for (std::int64_t b = 0; b < work.depth; ++b, tile += kTileBytes) {
      const std::byte* unit = tile + kTile.head_bytes;
      for (int u = 0; u < kUnits; ++u, ++x, unit += kTile.unit_bytes)
        Format::template DotUnit<kRows>(tile, unit, x, work.quant_stride, sums);
    }
  }
};

}  // namespace
}  // namespace banyan::kernels::avx2
