// Matrix products of formats of units (tiles.h): the codes of a unit are unpacked to bytes once for
// all input rows of a register tile.
//
// A format is made of
//   Unit(head, unit)  the registers that all input rows share, of a unit at `unit` in a block whose
//                     head is at `head`
//   Add(x, sum)       sum plus the products with one block of the input
#pragma once

#include <immintrin.h>

#include "kernels/cpu/matmul_avx512.h"

namespace banyan::kernels::avx512 {
namespace {

template <class Unit, TileLayout kTile>
struct OfUnits {
  static constexpr int kTileBytes = kTile.tile_bytes;
  static constexpr int kUnits = kTile.block / kQuantBlock;
  static constexpr int kMaxRows = kRegisterRows;
  static constexpr bool kInOrder = true;
  static constexpr int kInputBytes = kUnits * static_cast<int>(sizeof(QuantBlock));

  template <int kRows>
  static void Dot(const MatMulWork& work, const std::byte* tile, std::int32_t row, Ahead& ahead,
                  Sums<kRows>& sums) {
    const QuantBlock* x = work.quants + row * work.quant_stride;
    for (std::int64_t b = 0; b < work.depth; ++b, tile += kTileBytes) {
      const std::byte* at = tile + kTile.head_bytes;
      for (int u = 0; u < kUnits; ++u, ++x, at += kTile.unit_bytes) {
        FetchAhead<OfUnits, kRows, kTileBytes / kUnits>(ahead);
        const Unit unit(tile, at);
#pragma GCC unroll 8
        for (int r = 0; r < kRows; ++r) sums[r] = unit.Add(x[r * work.quant_stride], sums[r]);
      }
    }
  }
};

// One row of input and four tiles at once: see kTilesAtOnce.
template <class Unit, TileLayout kTile>
[[gnu::noinline]] void FourTiles(const MatMulWork& work, std::int64_t tile) {
  const std::int64_t tile_bytes = work.depth * kTile.tile_bytes;
  const std::byte* block = work.tiles + tile * tile_bytes;
  __m512 sums[kTilesAtOnce];
#pragma GCC unroll 4
  for (__m512& sum : sums) sum = _mm512_setzero_ps();
  for (std::int64_t b = 0; b < work.depth; ++b, block += kTile.tile_bytes) {
#pragma GCC unroll 4
    for (int t = 0; t < kTilesAtOnce; ++t) {
      const std::byte* head = block + t * tile_bytes;
      sums[t] = Unit(head, head + kTile.head_bytes).Add(work.quants[b], sums[t]);
    }
  }
#pragma GCC unroll 4
  for (int t = 0; t < kTilesAtOnce; ++t) Write(work, tile + t, 0, sums[t]);
}

template <class Unit, TileLayout kTile>
void UnitProduct(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  // Blocks of several units come as quickly one tile at a time.
  if constexpr (kTile.block == kQuantBlock) {
    if (work.rows == 1 && work.depth * kTile.tile_bytes >= kLongTileBytes)
      for (; first + kTilesAtOnce <= last; first += kTilesAtOnce)
        FourTiles<Unit, kTile>(work, first);
  }
  Product<OfUnits<Unit, kTile>>(work, first, last);
}

[[maybe_unused]] inline __m512i Broadcast4(const void* at) {
  int four;
  __builtin_memcpy(&four, at, sizeof four);
  return _mm512_set1_epi32(four);
}

[[maybe_unused]] inline __m512i Load(const std::byte* at) { return _mm512_loadu_si512(at); }

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
