// Keys and values that lie slot by slot, put into the tiles in which attention reads them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace banyan::kernels {

// Number d * kTileKeys + i of the tile = number d of rows[i] for the dimensions d of kTileKeys
// keys; numbers of 1 or 2 bytes. head_dim is a multiple of 8. Meanwhile the next rows come into the
// caches.
void TileKeys(const std::byte* const* rows, const std::byte* const* next_rows, int head_dim,
              int number_bytes, std::byte* tile);

// The same with number i * head_dim + d = number d of rows[i].
void TileValues(const std::byte* const* rows, const std::byte* const* next_rows, int head_dim,
                int number_bytes, std::byte* tile);

}  // namespace banyan::kernels
