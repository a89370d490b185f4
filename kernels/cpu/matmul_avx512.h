// What the matrix products of all formats share; each *_avx512.cc file has its own copy.
//
// Lane r of an accumulator belongs to row r of a tile and sums over the columns in increasing
// order, one fused multiply-add at a time, whatever the number of input rows: the chains, and so
// the bits, of matmul_avx2.h, whose two halves of a tile are one register here.
//
// A format has kTileBytes and kInputBytes of one step of MatMulWork::depth, and
//   Dot<kRows>(work, tile, row, sums)  adds to sums[r] the products of the tile and input row
//                                      `row` + r.
// Loops over the registers of a register tile are all unrolled: a single one that is not would keep
// it in memory.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/ops.h"

namespace banyan::kernels::avx512 {
namespace {

// Input rows of one register tile: eight leave room for a unit's codes, which so are unpacked once
// for all of them.
constexpr int kMaxRows = 8;
// Input rows are walked in groups of about this many bytes, which stay in the second-level cache
// while the tiles of weights pass by.
constexpr std::int64_t kGroupBytes = 384 << 10;

[[maybe_unused]] inline __m512i Broadcast4(const void* at) {
  int four;
  __builtin_memcpy(&four, at, sizeof four);
  return _mm512_set1_epi32(four);
}

[[maybe_unused]] inline __m512i Load(const std::byte* at) { return _mm512_loadu_si512(at); }

// Sixteen f16.
[[maybe_unused]] inline __m512 LoadHalves(const std::byte* at) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}

template <int kRows>
using Sums = __m512[kRows];

// The whole sum of one row of input is added at once, so that adding does not change its bits.
[[maybe_unused]] [[gnu::always_inline]] inline void Write(const MatMulWork& work, std::int64_t tile,
                                                          std::int32_t row, __m512 sum) {
  float* out = work.out + row * work.out_stride + tile * kTileRows;
  if (work.store == Store::kAdd) sum = _mm512_add_ps(_mm512_loadu_ps(out), sum);
  _mm512_storeu_ps(out, sum);
}

template <class Format, int kRows>
[[gnu::noinline]] void OneRegisterTile(const MatMulWork& work, std::int64_t tile,
                                       std::int32_t row) {
  Sums<kRows> sums;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) sums[r] = _mm512_setzero_ps();
  const std::byte* weights = work.tiles + tile * work.depth * Format::kTileBytes;
  Format::template Dot<kRows>(work, weights, row, sums);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) Write(work, tile, row + r, sums[r]);
}

// `rows` input rows from `row`, fewer than kMaxRows.
template <class Format, int kRows = kMaxRows - 1>
void LastRegisterTile(const MatMulWork& work, std::int64_t tile, std::int32_t row,
                      std::int32_t rows) {
  if constexpr (kRows > 0) {
    if (rows == kRows) return OneRegisterTile<Format, kRows>(work, tile, row);
    LastRegisterTile<Format, kRows - 1>(work, tile, row, rows);
  }
}

// Input rows begin .. end - 1, while one tile of weights stays in the first-level cache.
template <class Format>
void OneTile(const MatMulWork& work, std::int64_t tile, std::int32_t begin, std::int32_t end) {
  std::int32_t row = begin;
  for (; row + kMaxRows <= end; row += kMaxRows) OneRegisterTile<Format, kMaxRows>(work, tile, row);
  LastRegisterTile<Format>(work, tile, row, end - row);
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

// What formats of units (tiles.h) share: the codes of a unit are unpacked to bytes once for all
// input rows of a register tile. A format is made of one unit's
//   Unit(head, unit)                the registers that all input rows share
//   Add(x, sum)                     sum plus the products with one block of the input
template <class Unit, TileLayout kTile>
struct OfUnits {
  static constexpr int kTileBytes = kTile.tile_bytes;
  static constexpr int kUnits = kTile.block / kQuantBlock;
  static constexpr int kInputBytes = kUnits * static_cast<int>(sizeof(QuantBlock));

  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row,
                  Sums<kRows>& sums) {
    const QuantBlock* x = work.quants + row * work.quant_stride;
    for (std::int64_t b = 0; b < work.depth; ++b, tile += kTileBytes) {
      const std::byte* at = tile + kTile.head_bytes;
      for (int u = 0; u < kUnits; ++u, ++x, at += kTile.unit_bytes) {
        const Unit unit(tile, at);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) sums[r] = unit.Add(x[r * work.quant_stride], sums[r]);
      }
    }
  }
};

// The codes of a unit: codes[k] are columns 4 k .. 4 k + 3 of the sixteen rows.
constexpr int kFours = kQuantBlock / 4;
using Codes = __m512i[kFours];

template <TileLayout kTile>
[[gnu::always_inline]] inline void UnpackCodes(const std::byte* unit, Codes& codes) {
  if constexpr (kTile.low_bits == 8) {
#pragma GCC unroll 8
    for (int k = 0; k < kFours; ++k) codes[k] = Load(unit + 64 * k);
    return;
  }
  const __m512i low = _mm512_set1_epi8(15);
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512i pairs = Load(unit + 64 * j);
    codes[j] = _mm512_and_si512(pairs, low);
    codes[4 + j] = _mm512_and_si512(_mm512_srli_epi16(pairs, 4), low);
  }
}

// -16 times the sum of sixteen of a block's q. Scalar units have the time, the vectors' have not.
[[maybe_unused]] inline int CentringOf(const QuantBlock& x, int g) {
  return x.centring[g][0] + x.centring[g][1];
}

// (bits & mask) | codes.
[[maybe_unused]] [[gnu::always_inline]] inline __m512i WithBits(__m512i codes, __m512i bits,
                                                                char mask) {
  return _mm512_ternarylogic_epi32(bits, _mm512_set1_epi8(mask), codes, 0xea);
}

}  // namespace
}  // namespace banyan::kernels::avx512
