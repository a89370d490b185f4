// Attention over one chunk of keys in f16: attend_tile.h with 32 registers of eight lanes. Widening
// sixteen halves takes longer than eight twice.

#include "kernels/cpu/attend_tile.h"
#include "kernels/cpu/avx512.h"
#include "kernels/cpu/lanes_avx2.h"

namespace banyan::kernels::avx512 {

void AttendF16(const AttendWork& work) {
  static constexpr Tile kTiles[] = {AttendTile<Lanes8, F16, 1, 8>, AttendTile<Lanes8, F16, 2, 8>,
                                    AttendTile<Lanes8, F16, 3, 8>, AttendTile<Lanes8, F16, 4, 8>,
                                    AttendTile<Lanes8, F16, 5, 2>, AttendTile<Lanes8, F16, 6, 2>};
  AttendTiles(kTiles, work);
}

}  // namespace banyan::kernels::avx512
