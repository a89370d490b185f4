// ldmatrix: a warp reads 8x8 matrices of 16-bit numbers, whose rows lie anywhere in shared memory,
// as the operands of its products. Every lane touches what it gets, whoever named the row.
#pragma once

#include <cstdint>
#include <source_location>

#include "kernels/cuda/emulation/block.h"
#include "kernels/cuda/emulation/shared.h"
#include "kernels/cuda/emulation/warp.h"

namespace banyan::kernels::cuda {
namespace emulation {

// The row that a lane names, and those of all.
struct MatrixRows {
  std::uint16_t* named;
  std::uint16_t* all[32];
};

inline MatrixRows Gathered(Shared<std::uint16_t> row, const Site& where) {
  constexpr std::uintptr_t kBytes = 16;
  if (reinterpret_cast<std::uintptr_t>(row.address()) % kBytes != 0)
    Block::Current().Fail("a row of a matrix is not aligned to 16 bytes");
  MatrixRows rows{row.address(), {}};
  const Block::Complete complete = [](void* const* payloads, std::uint32_t present) {
    if (present != 0xffffffffU) Block::Current().Fail("all lanes of a warp load matrices");
    for (int lane = 0; lane < 32; ++lane)
      for (int from = 0; from < 32; ++from)
        static_cast<MatrixRows*>(payloads[lane])->all[from] =
            static_cast<MatrixRows*>(payloads[from])->named;
  };
  Block::Current().Meet(0xffffffffU, &rows, complete, where);
  return rows;
}

}  // namespace emulation

inline void LoadMatrices(std::uint32_t (&pairs)[4], Shared<std::uint16_t> row,
                         emulation::Site where = emulation::Site::current()) {
  const emulation::MatrixRows rows = emulation::Gathered(row, where);
  const unsigned lane = emulation::Lane();
  for (unsigned m = 0; m < 4; ++m) {
    const Shared<std::uint16_t> from(rows.all[8 * m + lane / 4]);
    pairs[m] = As<std::uint32_t>(from)[lane % 4];
  }
}

inline void LoadMatricesTransposed(std::uint32_t (&pairs)[4], Shared<std::uint16_t> row,
                                   emulation::Site where = emulation::Site::current()) {
  const emulation::MatrixRows rows = emulation::Gathered(row, where);
  const unsigned lane = emulation::Lane();
  for (unsigned m = 0; m < 4; ++m) {
    const Shared<std::uint16_t> low(rows.all[8 * m + lane % 4 * 2]);
    const Shared<std::uint16_t> high(rows.all[8 * m + lane % 4 * 2 + 1]);
    pairs[m] = static_cast<std::uint32_t>(low[lane / 4]) |
               static_cast<std::uint32_t>(high[lane / 4]) << 16;
  }
}

}  // namespace banyan::kernels::cuda
