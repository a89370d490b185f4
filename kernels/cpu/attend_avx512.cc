// Attention over one chunk of keys: attend_tile.h with eight lanes and 32 registers. The
// multiply-adds are as quick with sixteen lanes, and widening sixteen halves takes longer than
// eight twice.

#include <immintrin.h>

#include "kernels/cpu/attend_tile.h"
#include "kernels/cpu/avx512.h"
#include "kernels/cpu/lanes_avx2.h"

namespace banyan::kernels::avx512 {

void Attend(const AttendWork& work) {
  static constexpr Tile kTiles[] = {AttendTile<Lanes8, 1, 8>, AttendTile<Lanes8, 2, 8>,
                                    AttendTile<Lanes8, 3, 8>, AttendTile<Lanes8, 4, 8>,
                                    AttendTile<Lanes8, 5, 2>, AttendTile<Lanes8, 6, 2>};
  AttendTiles(kTiles, work);
}

}  // namespace banyan::kernels::avx512
