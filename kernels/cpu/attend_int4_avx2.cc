// Attention over one chunk of keys in 4 bits: attend_int4.h with eight lanes.

#include "kernels/cpu/attend_int4.h"
#include "kernels/cpu/avx2.h"
#include "kernels/cpu/lanes_avx2.h"

namespace banyan::kernels::avx2 {

// Tiles of fewer sums than those of other formats: codes need registers, too, and a single sum that
// is kept in memory takes as long as all others.
void AttendInt4(const AttendWork& work) {
  static constexpr Tile kTiles[] = {AttendSealed<Lanes8, 1, 4>, AttendSealed<Lanes8, 2, 4>,
                                    AttendSealed<Lanes8, 3, 2>, AttendSealed<Lanes8, 4, 2>};
  AttendTiles(kTiles, work);
}

}  // namespace banyan::kernels::avx2
