// Where a tile of weights keeps what: sixteen rows of a matrix, interleaved so that a load of 32
// (64) bytes meets 8 (16) of them. Constants alone, for files of every variant.
//
// Floats: column after column, sixteen values each.
// Quantized types: block of columns after block; a block is
//   head   sixteen f16 d, then where the type has one sixteen f16 m
//   units  one per 32 columns, each
//     low     4 bits: byte 64 j + 4 r + b (j < 4, row r, b < 4) has column 4 j + b in its low
//             nibble and 16 + 4 j + b in its high one. 8 bits: byte 64 j + 4 r + b (j < 8) is
//             column 4 j + b
//     high    1 bit: bit k of byte 4 r + b belongs to column 4 k + b
//             2 bits: bits 2 k, 2 k + 1 of byte 64 g + 4 r + b belong to column 16 g + 4 k + b
//     scales  one byte of each row per 32 columns, or two: of the first and the second 16
//     mins    one byte of each row
#pragma once

namespace banyan::kernels {

inline constexpr int kTileRows = 16;
inline constexpr int kQuantBlock = 32;  // columns of a unit; values of an input that share a scale

struct TileLayout {
  int block;   // columns
  int halves;  // f16 of a row in the head: d, or d and m
  int low_bits;
  int high_bits;
  int scales;
  int mins;
  // Offsets and sizes in bytes.
  int head_bytes;
  int high_at;  // from a unit's start, as the next two
  int scales_at;
  int mins_at;
  int unit_bytes;
  int tile_bytes;  // of a block
};

consteval TileLayout MakeTile(int block, int halves, int low_bits, int high_bits, int scales = 0,
                              int mins = 0) {
  constexpr int kBitBytes = kTileRows * kQuantBlock / 8;  // of one bit per weight
  TileLayout t = {block, halves, low_bits, high_bits, scales, mins, 0, 0, 0, 0, 0, 0};
  t.head_bytes = kTileRows * 2 * halves;
  t.high_at = kBitBytes * low_bits;
  t.scales_at = t.high_at + kBitBytes * high_bits;
  t.mins_at = t.scales_at + kTileRows * scales;
  t.unit_bytes = t.mins_at + kTileRows * mins;
  t.tile_bytes = t.head_bytes + block / kQuantBlock * t.unit_bytes;
  return t;
}

inline constexpr TileLayout kTileQ4_0 = MakeTile(32, 1, 4, 0);
inline constexpr TileLayout kTileQ4_1 = MakeTile(32, 2, 4, 0);
inline constexpr TileLayout kTileQ5_0 = MakeTile(32, 1, 4, 1);
inline constexpr TileLayout kTileQ5_1 = MakeTile(32, 2, 4, 1);
inline constexpr TileLayout kTileQ8_0 = MakeTile(32, 1, 8, 0);
inline constexpr TileLayout kTileQ4_K = MakeTile(256, 2, 4, 0, 1, 1);
inline constexpr TileLayout kTileQ5_K = MakeTile(256, 2, 4, 1, 1, 1);
inline constexpr TileLayout kTileQ6_K = MakeTile(256, 1, 4, 2, 2);

}  // namespace banyan::kernels
