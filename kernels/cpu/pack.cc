#include "kernels/cpu/pack.h"

#include <algorithm>
#include <cstring>

#include "kernels/block.h"
#include "kernels/cpu/tiles.h"
#include "kernels/require.h"

namespace banyan::kernels {
namespace {

// Null for floats.
const TileLayout* LayoutOf(DType type) {
  switch (type) {
    case DType::kQ4_0:
      return &kTileQ4_0;
    case DType::kQ4_1:
      return &kTileQ4_1;
    case DType::kQ5_0:
      return &kTileQ5_0;
    case DType::kQ5_1:
      return &kTileQ5_1;
    case DType::kQ8_0:
      return &kTileQ8_0;
    case DType::kQ4_K:
      return &kTileQ4_K;
    case DType::kQ5_K:
      return &kTileQ5_K;
    case DType::kQ6_K:
      return &kTileQ6_K;
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16:
      return nullptr;
  }
  RequireFailed("a tensor type outside DType");
}

// Per block of columns; of floats, per column.
std::int64_t BlockTileBytes(DType type) {
  const TileLayout* layout = LayoutOf(type);
  return layout != nullptr ? layout->tile_bytes : kTileRows * ShapeOf(type).bytes;
}

// Row r's codes of 32 columns, to and from a unit.
void WriteCodes(const TileLayout& layout, const std::uint8_t* codes, std::int64_t r,
                std::byte* unit) {
  std::uint8_t bytes[16];
  if (layout.low_bits == 8) {
    for (int j = 0; j < 8; ++j) std::memcpy(unit + 64 * j + 4 * r, codes + 4 * j, 4);
    return;
  }
  for (int i = 0; i < 16; ++i)
    bytes[i] = static_cast<std::uint8_t>((codes[i] & 15) | codes[16 + i] << 4);
  for (int j = 0; j < 4; ++j) std::memcpy(unit + 64 * j + 4 * r, bytes + 4 * j, 4);
  // The high bits of columns a stride of four apart share a byte.
  const int columns = layout.high_bits == 1 ? 32 : 16;
  for (int g = 0; layout.high_bits != 0 && g < 32 / columns; ++g) {
    std::uint8_t high[4] = {};
    for (int i = 0; i < columns; ++i)
      high[i % 4] |=
          static_cast<std::uint8_t>(codes[columns * g + i] >> 4 << i / 4 * layout.high_bits);
    std::memcpy(unit + layout.high_at + 64 * g + 4 * r, high, 4);
  }
}

void ReadCodes(const TileLayout& layout, const std::byte* unit, std::int64_t r,
               std::uint8_t* codes) {
  if (layout.low_bits == 8) {
    for (int j = 0; j < 8; ++j) std::memcpy(codes + 4 * j, unit + 64 * j + 4 * r, 4);
    return;
  }
  std::uint8_t bytes[16];
  for (int j = 0; j < 4; ++j) std::memcpy(bytes + 4 * j, unit + 64 * j + 4 * r, 4);
  for (int i = 0; i < 16; ++i) {
    codes[i] = bytes[i] & 15;
    codes[16 + i] = bytes[i] >> 4;
  }
  const int columns = layout.high_bits == 1 ? 32 : 16;
  const int mask = (1 << layout.high_bits) - 1;
  for (int g = 0; layout.high_bits != 0 && g < 32 / columns; ++g) {
    std::uint8_t high[4];
    std::memcpy(high, unit + layout.high_at + 64 * g + 4 * r, 4);
    for (int i = 0; i < columns; ++i)
      codes[columns * g + i] |=
          static_cast<std::uint8_t>((high[i % 4] >> i / 4 * layout.high_bits & mask) << 4);
  }
}

void WriteBlock(const TileLayout& layout, const Codes& codes, std::int64_t r, std::byte* tile) {
  std::memcpy(tile + 2 * r, &codes.d, 2);
  if (layout.halves == 2) std::memcpy(tile + 2 * (kTileRows + r), &codes.m, 2);
  std::byte* unit = tile + layout.head_bytes;
  for (int u = 0; u < layout.block / kQuantBlock; ++u, unit += layout.unit_bytes) {
    WriteCodes(layout, codes.codes.data() + u * kQuantBlock, r, unit);
    for (int s = 0; s < layout.scales; ++s)
      unit[layout.scales_at + s * kTileRows + r] = std::byte{codes.scales[layout.scales * u + s]};
    if (layout.mins != 0) unit[layout.mins_at + r] = std::byte{codes.mins[u]};
  }
}

void ReadBlock(const TileLayout& layout, const std::byte* tile, std::int64_t r, Codes& codes) {
  std::memcpy(&codes.d, tile + 2 * r, 2);
  if (layout.halves == 2) std::memcpy(&codes.m, tile + 2 * (kTileRows + r), 2);
  const std::byte* unit = tile + layout.head_bytes;
  for (int u = 0; u < layout.block / kQuantBlock; ++u, unit += layout.unit_bytes) {
    ReadCodes(layout, unit, r, codes.codes.data() + u * kQuantBlock);
    for (int s = 0; s < layout.scales; ++s)
      codes.scales[layout.scales * u + s] =
          std::to_integer<std::uint8_t>(unit[layout.scales_at + s * kTileRows + r]);
    if (layout.mins != 0) codes.mins[u] = std::to_integer<std::uint8_t>(unit[layout.mins_at + r]);
  }
}

}  // namespace

std::int64_t TileCount(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }

std::int64_t TileBytes(DType type, std::int64_t cols) {
  const std::int64_t block = ShapeOf(type).block;
  Require(cols > 0 && cols % block == 0, "a row of a matrix is whole blocks");
  return cols / block * BlockTileBytes(type);
}

void PackTiles(const HostTensor& host, std::int64_t first, std::int64_t last, std::byte* tiles) {
  const TileLayout* layout = LayoutOf(host.type);
  const BlockShape shape = ShapeOf(host.type);
  const std::int64_t tile_bytes = BlockTileBytes(host.type);
  const std::int64_t blocks = host.cols / shape.block;
  const std::int64_t end = std::min(last * kTileRows, host.rows);
  for (std::int64_t row = first * kTileRows; row < end; ++row) {
    const std::int64_t r = row % kTileRows;
    const std::byte* block = host.data + row * blocks * shape.bytes;
    std::byte* tile = tiles + row / kTileRows * blocks * tile_bytes;
    Codes codes;
    for (std::int64_t b = 0; b < blocks; ++b, block += shape.bytes, tile += tile_bytes) {
      if (layout == nullptr) {
        std::memcpy(tile + r * shape.bytes, block, static_cast<std::size_t>(shape.bytes));
        continue;
      }
      TakeApart(host.type, block, codes);
      WriteBlock(*layout, codes, r, tile);
    }
  }
}

void UnpackRow(DType type, const std::byte* tiles, std::int64_t row, std::span<float> out) {
  const TileLayout* layout = LayoutOf(type);
  const BlockShape shape = ShapeOf(type);
  const std::int64_t tile_bytes = BlockTileBytes(type);
  const std::int64_t blocks = std::ssize(out) / shape.block;
  const std::int64_t r = row % kTileRows;
  const std::byte* tile = tiles + row / kTileRows * blocks * tile_bytes;
  float* to = out.data();
  Codes codes;
  for (std::int64_t b = 0; b < blocks; ++b, tile += tile_bytes, to += shape.block) {
    if (layout == nullptr) {
      DequantizeBlock(type, tile + r * shape.bytes, to);
      continue;
    }
    ReadBlock(*layout, tile, r, codes);
    Expand(type, codes, to);
  }
}

}  // namespace banyan::kernels
