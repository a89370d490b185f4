// Attention over one chunk of keys with AVX2: attend_tile.h with eight lanes. A format of pages is
// a file of its own, attend_*_avx2.cc: tiles of every size are long to compile.
#pragma once

#include "kernels/cpu/attend_tile.h"
#include "kernels/cpu/avx2.h"
#include "kernels/cpu/lanes_avx2.h"

namespace banyan::kernels::avx2 {
namespace {

// Tiles of 8 to 12 sums: what two multiply-adds per cycle of latency 4 ask for, and what sixteen
// registers hold.
template <class F>
void Attend(const AttendWork& work) {
  static constexpr Tile kTiles[] = {AttendTile<Lanes8, F, 1, 8>, AttendTile<Lanes8, F, 2, 4>,
                                    AttendTile<Lanes8, F, 3, 4>, AttendTile<Lanes8, F, 4, 2>,
                                    AttendTile<Lanes8, F, 5, 2>, AttendTile<Lanes8, F, 6, 2>};
  AttendTiles(kTiles, work);
}

}  // namespace
}  // namespace banyan::kernels::avx2
