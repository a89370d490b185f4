#include "kernels/cpu/pack.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/ops.h"
#include "kernels/require.h"

namespace banyan::kernels {
namespace {

// A run of bytes of a block in the file, dealt out in units: unit u of row r goes to
// to + (u * kTileRows + r) * unit in the tile.
struct Field {
  std::int64_t from;
  std::int64_t units;
  std::int64_t unit;  // bytes
  std::int64_t to;
};

struct Layout {
  std::int64_t tile_bytes;  // per block of columns
  std::array<Field, 3> fields;
};

const Layout& LayoutOf(DType type) {
  static constexpr Layout kF32 = {kTileBytesF32, {{{0, 1, 4, 0}}}};
  static constexpr Layout kF16 = {kTileBytesF16, {{{0, 1, 2, 0}}}};
  static constexpr Layout kQ4_1 = {kTileBytesQ4_1,
                                   {{{4, 4, 4, 0}, {0, 1, 2, 256}, {2, 1, 2, 288}}}};
  static constexpr Layout kQ8_0 = {kTileBytesQ8_0, {{{2, 8, 4, 0}, {0, 1, 2, 512}}}};
  switch (type) {
    case DType::kF32:
      return kF32;
    case DType::kF16:
      return kF16;
    case DType::kQ4_1:
      return kQ4_1;
    case DType::kQ8_0:
      return kQ8_0;
  }
  RequireFailed("a tensor type outside DType");
}

// Copies one row's fields of one block; constant sizes let the compiler use single moves.
template <bool kPack>
void CopyBlock(const Layout& layout, std::int64_t r,
               std::conditional_t<kPack, const std::byte, std::byte>* block,
               std::conditional_t<kPack, std::byte, const std::byte>* tile) {
  for (const Field& field : layout.fields) {
    for (std::int64_t u = 0; u < field.units; ++u) {
      auto* in_block = block + field.from + u * field.unit;
      auto* in_tile = tile + field.to + (u * kTileRows + r) * field.unit;
      const auto bytes = static_cast<std::size_t>(field.unit);
      if constexpr (kPack)
        std::memcpy(in_tile, in_block, bytes);
      else
        std::memcpy(in_block, in_tile, bytes);
    }
  }
}

}  // namespace

std::int64_t TileCount(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }

std::int64_t TileBytes(DType type, std::int64_t cols) {
  const std::int64_t block = ShapeOf(type).block;
  Require(cols > 0 && cols % block == 0, "a row of a matrix is whole blocks");
  return cols / block * LayoutOf(type).tile_bytes;
}

void PackTiles(const HostTensor& host, std::int64_t first, std::int64_t last, std::byte* tiles) {
  const Layout layout = LayoutOf(host.type);
  const BlockShape shape = ShapeOf(host.type);
  const std::int64_t blocks = host.cols / shape.block;
  const std::int64_t end = std::min(last * kTileRows, host.rows);
  for (std::int64_t row = first * kTileRows; row < end; ++row) {
    const std::byte* block = host.data + row * blocks * shape.bytes;
    std::byte* tile = tiles + row / kTileRows * blocks * layout.tile_bytes;
    for (std::int64_t b = 0; b < blocks; ++b)
      CopyBlock<true>(layout, row % kTileRows, block + b * shape.bytes,
                      tile + b * layout.tile_bytes);
  }
}

void UnpackRow(DType type, const std::byte* tiles, std::int64_t row, std::span<float> out) {
  const Layout layout = LayoutOf(type);
  const BlockShape shape = ShapeOf(type);
  const std::int64_t blocks = std::ssize(out) / shape.block;
  const std::byte* tile = tiles + row / kTileRows * blocks * layout.tile_bytes;
  std::array<std::byte, 64> block;
  for (std::int64_t b = 0; b < blocks; ++b) {
    CopyBlock<false>(layout, row % kTileRows, block.data(), tile + b * layout.tile_bytes);
    DequantizeBlock(type, block.data(), out.data() + b * shape.block);
  }
}

}  // namespace banyan::kernels
