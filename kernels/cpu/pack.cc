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

// Four codes that stand beside each other, as one word: codes 4 k .. 4 k + 3 of a unit.
std::uint32_t LoadFour(const void* at) {
  std::uint32_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}
void StoreFour(std::uint32_t word, void* at) { std::memcpy(at, &word, sizeof word); }

// The same bits of all four codes.
constexpr std::uint32_t Each(std::uint32_t bits) { return bits * 0x01010101U; }

// How the high bits of four codes go beside those of others: bits of a code, and how many fours
// share a word.
struct HighBits {
  int bits;
  int fours;
};
HighBits HighBitsOf(const TileLayout& layout) {
  return {layout.high_bits, layout.high_bits == 0 ? 0 : 8 / layout.high_bits};
}

// Row r's codes of 32 columns, to and from a unit.
void WriteCodes(const TileLayout& layout, const std::uint8_t* codes, std::int64_t r,
                std::byte* unit) {
  if (layout.low_bits == 8) {
    for (int k = 0; k < 8; ++k) StoreFour(LoadFour(codes + 4 * k), unit + 64 * k + 4 * r);
    return;
  }
  for (int k = 0; k < 4; ++k) {
    const std::uint32_t low = LoadFour(codes + 4 * k) & Each(15);
    const std::uint32_t high = LoadFour(codes + 16 + 4 * k) & Each(15);
    StoreFour(low | high << 4, unit + 64 * k + 4 * r);
  }
  const auto [bits, fours] = HighBitsOf(layout);
  for (int g = 0; g < bits; ++g) {
    std::uint32_t word = 0;
    for (int k = 0; k < fours; ++k) {
      const std::uint32_t above = LoadFour(codes + 4 * (fours * g + k)) >> 4;
      word |= (above & Each((1U << bits) - 1)) << bits * k;
    }
    StoreFour(word, unit + layout.high_at + 64 * g + 4 * r);
  }
}

void ReadCodes(const TileLayout& layout, const std::byte* unit, std::int64_t r,
               std::uint8_t* codes) {
  if (layout.low_bits == 8) {
    for (int k = 0; k < 8; ++k) StoreFour(LoadFour(unit + 64 * k + 4 * r), codes + 4 * k);
    return;
  }
  for (int k = 0; k < 4; ++k) {
    const std::uint32_t pair = LoadFour(unit + 64 * k + 4 * r);
    StoreFour(pair & Each(15), codes + 4 * k);
    StoreFour(pair >> 4 & Each(15), codes + 16 + 4 * k);
  }
  const auto [bits, fours] = HighBitsOf(layout);
  for (int g = 0; g < bits; ++g) {
    const std::uint32_t word = LoadFour(unit + layout.high_at + 64 * g + 4 * r);
    for (int k = 0; k < fours; ++k) {
      std::uint8_t* four = codes + 4 * (fours * g + k);
      StoreFour(LoadFour(four) | (word >> bits * k & Each((1U << bits) - 1)) << 4, four);
    }
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

namespace {

// Tile `tile` of a matrix of floats; `kBytes` of one.
template <std::size_t kBytes>
void PackFloats(const HostTensor& host, std::int64_t tile, std::byte* to) {
  const std::int64_t rows = std::min<std::int64_t>(kTileRows, host.rows - tile * kTileRows);
  const std::int64_t row_bytes = host.cols * std::int64_t{kBytes};
  const std::byte* from = host.data + tile * kTileRows * row_bytes;
  for (std::int64_t col = 0; col < host.cols; ++col, from += kBytes, to += kTileRows * kBytes)
    for (std::int64_t r = 0; r < rows; ++r)
      std::memcpy(to + r * std::int64_t{kBytes}, from + r * row_bytes, kBytes);
}

void PackBlocks(const TileLayout& layout, const HostTensor& host, std::int64_t tile,
                std::byte* to) {
  const BlockShape shape = ShapeOf(host.type);
  const std::int64_t rows = std::min<std::int64_t>(kTileRows, host.rows - tile * kTileRows);
  const std::int64_t blocks = host.cols / shape.block;
  const std::byte* from = host.data + tile * kTileRows * blocks * shape.bytes;
  Codes codes;
  for (std::int64_t b = 0; b < blocks; ++b, from += shape.bytes, to += layout.tile_bytes) {
    for (std::int64_t r = 0; r < rows; ++r) {
      TakeApart(host.type, from + r * blocks * shape.bytes, codes);
      WriteBlock(layout, codes, r, to);
    }
  }
}

}  // namespace

void PackTiles(const HostTensor& host, std::int64_t first, std::int64_t last, std::byte* tiles) {
  const TileLayout* layout = LayoutOf(host.type);
  const std::int64_t bytes = TileBytes(host.type, host.cols);
  for (std::int64_t tile = first; tile < last; ++tile) {
    std::byte* to = tiles + tile * bytes;
    if (layout != nullptr)
      PackBlocks(*layout, host, tile, to);
    else if (host.type == DType::kF32)
      PackFloats<4>(host, tile, to);
    else
      PackFloats<2>(host, tile, to);
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
