// What the matrix products of all formats share; each *_avx512.cc file has its own copy.
//
// Lane r of an accumulator belongs to row r of a tile and sums over the columns in increasing
// order, one fused multiply-add at a time, whatever the number of input rows: the chains, and so
// the bits, of matmul_avx2.h, whose two halves of a tile are one register here.
//
// A format is one of tile_loop.h with
//   Dot<kRows>(work, tile, row, ahead, sums)  adds to sums[r] the products of the tile and input
//                                             row `row` + r.
// Loops over the registers of a register tile are all unrolled: a single one that is not would keep
// it in memory.
#pragma once

#include <immintrin.h>

#include "kernels/cpu/ops.h"
#include "kernels/cpu/tile_loop.h"

namespace banyan::kernels::avx512 {
namespace {

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

// Of any format: eight leave room for a unit's codes, which so are unpacked once for all of them.
constexpr int kRegisterRows = 8;

struct Registers {
  template <class Format, int kRows>
  [[gnu::noinline]] static void Tile(const MatMulWork& work, std::int64_t tile, std::int32_t row,
                                     Ahead& ahead) {
    Sums<kRows> sums;
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) sums[r] = _mm512_setzero_ps();
    const std::byte* weights = work.tiles + tile * work.depth * Format::kTileBytes;
    Format::template Dot<kRows>(work, weights, row, ahead, sums);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) Write(work, tile, row + r, sums[r]);
  }
};

template <class Format>
void Product(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  AllTiles<Registers, Format>(work, first, last);
}

}  // namespace
}  // namespace banyan::kernels::avx512
