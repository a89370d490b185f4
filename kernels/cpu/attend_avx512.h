// Attention over one chunk of keys: attend_tile.h with 32 registers. A format of pages is a file of
// its own, attend_*_avx512.cc: tiles of every size are long to compile.
//
// The multiply-adds are as quick with eight lanes as with sixteen, but sixteen numbers are widened
// sooner than eight twice, and fewer instructions are left to issue. Not so with f16.
#pragma once

#include "kernels/cpu/attend_tile.h"
#include "kernels/cpu/avx512.h"
#include "kernels/cpu/lanes_avx2.h"
#include "kernels/cpu/lanes_avx512.h"

namespace banyan::kernels::avx512 {
namespace {

template <class F>
void Attend(const AttendWork& work) {
  static constexpr Tile kTiles[] = {
      AttendTile<Lanes16, F, 1, 4, Lanes8>, AttendTile<Lanes16, F, 2, 4, Lanes8>,
      AttendTile<Lanes16, F, 3, 4, Lanes8>, AttendTile<Lanes16, F, 4, 4, Lanes8>,
      AttendTile<Lanes16, F, 5, 4, Lanes8>, AttendTile<Lanes16, F, 6, 4, Lanes8>};
  AttendTiles(kTiles, work);
}

}  // namespace
}  // namespace banyan::kernels::avx512
