// The loop over the tiles of a matrix product: which rows of the input meet which tile when, and
// what is fetched from memory meanwhile.
//
// For the files of several sets of instructions, each with its own copy: nothing here has a name
// that a linker sees. `Registers`, of the set, has
//   Tile<Format, kRows>(work, tile, row, ahead)   computes one tile's outputs of kRows rows
// and a format
//   kTileBytes, kInputBytes   of one step of MatMulWork::depth
//   kMaxRows                  input rows of its largest register tile
//   kInOrder                  whether its loads come in the order of memory
#pragma once

#include <xmmintrin.h>

#include "kernels/cpu/ops.h"

namespace banyan::kernels {
namespace {

// Weights that are fetched while others are multiplied, with every unit or some of them as many
// bytes as it has: in order, so that memory is as busy as the products are.
struct Ahead {
  enum class Level : std::uint8_t { kFirst, kSecond };  // of the caches

  const std::byte* at = nullptr;  // maybe past all weights: fetching is not reading
  std::int32_t every = 0;         // one unit of this many fetches a unit
  std::int32_t wait = -1;         // units until the next that does
  Level level = Level::kFirst;
};

// Called with every unit of kBytes by a register tile of kRows rows.
template <class Format, int kRows, int kBytes>
[[gnu::always_inline]] inline void FetchAhead(Ahead& ahead) {
  // One row fetches nothing in order, and asking alone would cost a tenth.
  if constexpr (kRows == 1 && Format::kInOrder) return;
  if (ahead.wait-- != 0) return;
  if (ahead.level == Ahead::Level::kFirst) {
#pragma GCC unroll 16
    for (int i = 0; i < kBytes; i += 64) _mm_prefetch(ahead.at + i, _MM_HINT_T0);
  } else {
#pragma GCC unroll 16
    for (int i = 0; i < kBytes; i += 64) _mm_prefetch(ahead.at + i, _MM_HINT_T1);
  }
  ahead.at += kBytes;
  ahead.wait = ahead.every - 1;
}

// What to fetch while `rows` rows pass over the tile at `weights`, a part of them each time.
//
// Processors foresee what is read in order: one pass of loads in order needs no help, and one row
// that is to fetch loses a fifth. Loads that come in another order are foreseen badly, and nobody
// foresees beyond a page, so weights are fetched a page before they are loaded. While rows pass
// over a tile again and again the reading stops and so does the foresight, and it loses its way
// where a tile and its inputs leave the first-level cache: then the next tile is fetched, behind
// the last one too, for callers take a few tiles at a time.
template <class Format>
Ahead LookAhead(const std::byte* weights, std::int64_t depth, std::int32_t rows,
                std::int32_t passes) {
  constexpr std::int64_t kFirstLevelBytes = 32 << 10;
  constexpr std::int64_t kPageBytes = 4 << 10;
  const std::int64_t tile_bytes = depth * Format::kTileBytes;
  const std::int64_t inputs = (rows + passes - 1) / passes * depth * Format::kInputBytes;
  const bool near = 2 * tile_bytes + inputs <= kFirstLevelBytes;
  if (passes == 1 && !Format::kInOrder) return {weights + kPageBytes, 1, 0, Ahead::Level::kFirst};
  if (rows == 1 || (passes == 1 && near)) return {};
  return {weights + tile_bytes, passes, 0, near ? Ahead::Level::kFirst : Ahead::Level::kSecond};
}

template <class Registers, class Format, int kRows>
void RegisterTile(const MatMulWork& work, std::int64_t tile, std::int32_t row, std::int32_t rows,
                  Ahead& ahead) {
  if constexpr (kRows > 1) {
    if (rows < kRows)
      return RegisterTile<Registers, Format, kRows - 1>(work, tile, row, rows, ahead);
  }
  Registers::template Tile<Format, kRows>(work, tile, row, ahead);
}

// Input rows begin .. end - 1, while one tile of weights stays near: as few register tiles as will
// do, of sizes that differ by one at most.
template <class Registers, class Format>
void OneTile(const MatMulWork& work, std::int64_t tile, std::int32_t begin, std::int32_t end) {
  constexpr std::int32_t kMaxRows = Format::kMaxRows;
  std::int32_t passes = (end - begin + kMaxRows - 1) / kMaxRows;
  const std::byte* weights = work.tiles + tile * work.depth * Format::kTileBytes;
  Ahead ahead = LookAhead<Format>(weights, work.depth, end - begin, passes);
  for (std::int32_t row = begin; row < end; --passes) {
    const std::int32_t rows = (end - row + passes - 1) / passes;
    RegisterTile<Registers, Format, kMaxRows>(work, tile, row, rows, ahead);
    row += rows;
  }
}

template <class Registers, class Format>
void AllTiles(const MatMulWork& work, std::int64_t first, std::int64_t last) {
  // Input rows are walked in groups of about this many bytes, which stay in the second-level cache
  // while the tiles of weights pass by.
  constexpr std::int64_t kGroupBytes = 384 << 10;
  constexpr std::int32_t kMaxRows = Format::kMaxRows;
  auto group = static_cast<std::int32_t>(kGroupBytes / (work.depth * Format::kInputBytes));
  group = group < kMaxRows ? kMaxRows : group / kMaxRows * kMaxRows;
  for (std::int32_t begin = 0; begin < work.rows; begin += group) {
    const std::int32_t end = work.rows - begin < group ? work.rows : begin + group;
    for (std::int64_t tile = first; tile < last; ++tile)
      OneTile<Registers, Format>(work, tile, begin, end);
  }
}

}  // namespace
}  // namespace banyan::kernels
