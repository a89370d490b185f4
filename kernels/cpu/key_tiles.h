// Keys and values that lie slot by slot, put into the tiles in which attention reads them.
#pragma once

#include <cstdint>

namespace banyan::kernels {

// tile[d * kTileKeys + i] = rows[i][d] for the dimensions d of kTileKeys keys; head_dim is a
// multiple of 8. Meanwhile the next rows come into the caches.
void TileKeys(const std::uint16_t* const* rows, const std::uint16_t* const* next_rows, int head_dim,
              std::uint16_t* tile);

// The same with tile[i * head_dim + d] = rows[i][d].
void TileValues(const std::uint16_t* const* rows, const std::uint16_t* const* next_rows,
                int head_dim, std::uint16_t* tile);

}  // namespace banyan::kernels
