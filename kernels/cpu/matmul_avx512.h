// What the matrix products of all formats share; each *_avx512.cc file has its own copy.
//
// Lane r of an accumulator belongs to row r of a tile and sums over the columns in increasing
// order, one fused multiply-add at a time, whatever the number of input rows: the chains, and so
// the bits, of matmul_avx2.h, whose two halves of a tile are one register here.
//
// A format has kTileBytes and kInputBytes of one step of MatMulWork::depth, and
//   Dot<kRows>(work, tile, row, ahead, sums)  adds to sums[r] the products of the tile and input
//                                             row `row` + r.
// Loops over the registers of a register tile are all unrolled: a single one that is not would keep
// it in memory.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/ahead_avx512.h"
#include "kernels/cpu/ops.h"

namespace banyan::kernels::avx512 {
namespace {

// Input rows of one register tile: eight leave room for a unit's codes, which so are unpacked once
// for all of them.
constexpr int kMaxRows = 8;
// Input rows are walked in groups of about this many bytes, which stay in the second-level cache
// while the tiles of weights pass by.
constexpr std::int64_t kGroupBytes = 384 << 10;

// Sixteen f16.
[[maybe_unused]] inline __m512 LoadHalves(const std::byte* at) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
}

// Few rows take four tiles at once where tiles are long: memory is then read at four places, each
// of which processors foresee by itself. Short tiles would end too soon for that.
constexpr int kTilesAtOnce = 4;
constexpr std::int64_t kLongTileBytes = 24 << 10;

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
[[gnu::noinline]] void OneRegisterTile(const MatMulWork& work, std::int64_t tile, std::int32_t row,
                                       Ahead& ahead) {
  Sums<kRows> sums;
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) sums[r] = _mm512_setzero_ps();
  const std::byte* weights = work.tiles + tile * work.depth * Format::kTileBytes;
  Format::template Dot<kRows>(work, weights, row, ahead, sums);
#pragma GCC unroll 8
  for (int r = 0; r < kRows; ++r) Write(work, tile, row + r, sums[r]);
}

// Input rows begin .. end - 1, while one tile of weights stays near: as few register tiles as will
// do, of sizes that differ by one at most.
template <class Format>
void OneTile(const MatMulWork& work, std::int64_t tile, std::int32_t begin, std::int32_t end,
             bool last) {
  static constexpr void (*kTiles[])(const MatMulWork&, std::int64_t, std::int32_t, Ahead&) = {
      OneRegisterTile<Format, 1>, OneRegisterTile<Format, 2>,       OneRegisterTile<Format, 3>,
      OneRegisterTile<Format, 4>, OneRegisterTile<Format, 5>,       OneRegisterTile<Format, 6>,
      OneRegisterTile<Format, 7>, OneRegisterTile<Format, kMaxRows>};
  const std::int64_t tile_bytes = work.depth * Format::kTileBytes;
  const std::int64_t input_bytes = work.depth * Format::kInputBytes;
  std::int32_t passes = (end - begin + kMaxRows - 1) / kMaxRows;
  Ahead ahead =
      LookAhead(work.tiles + (tile + 1) * tile_bytes, tile_bytes, input_bytes, end - begin, passes);
  if (last) ahead = {};
  for (std::int32_t row = begin; row < end; --passes) {
    const std::int32_t rows = (end - row + passes - 1) / passes;
    kTiles[rows - 1](work, tile, row, ahead);
    row += rows;
  }
}

template <class Format>
void Product(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  auto group = static_cast<std::int32_t>(kGroupBytes / (work.depth * Format::kInputBytes));
  group = group < kMaxRows ? kMaxRows : group / kMaxRows * kMaxRows;
  for (std::int32_t begin = 0; begin < work.rows; begin += group) {
    const std::int32_t end = work.rows - begin < group ? work.rows : begin + group;
    for (std::int64_t tile = first; tile < last; ++tile)
      OneTile<Format>(work, tile, begin, end, tile + 1 == last);
  }
}

}  // namespace
}  // namespace banyan::kernels::avx512
