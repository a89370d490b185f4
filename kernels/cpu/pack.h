// Weights from a file's rows to tiles of interleaved rows (kernels/cpu/ops.h), and single rows
// back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/tensor.h"

namespace banyan::kernels {

std::int64_t TileCount(std::int64_t rows);
// Bytes of one tile of a matrix with `cols` columns, which must be whole blocks.
std::int64_t TileBytes(DType type, std::int64_t cols);

// Fills tiles first .. last - 1 of the zeroed memory at `tiles`; rows past the last stay zero.
void PackTiles(const HostTensor& host, std::int64_t first, std::int64_t last, std::byte* tiles);

// Row `row` of a packed matrix as floats: the bits of DequantizeRow on the original.
void UnpackRow(DType type, const std::byte* tiles, std::int64_t row, std::span<float> out);

}  // namespace banyan::kernels
