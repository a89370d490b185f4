// Attention over one chunk of keys in 4 bits: attend_int4.h with eight lanes.

#include "kernels/cpu/attend_int4.h"
#include "kernels/cpu/avx2.h"
#include "kernels/cpu/lanes_avx2.h"

namespace banyan::kernels::avx2 {

void AttendInt4(const AttendWork& work) {
  static constexpr Tile kTiles[] = {AttendSealed<Lanes8, 1, 8>, AttendSealed<Lanes8, 2, 4>,
                                    AttendSealed<Lanes8, 3, 4>, AttendSealed<Lanes8, 4, 2>,
                                    AttendSealed<Lanes8, 5, 2>, AttendSealed<Lanes8, 6, 2>};
  AttendTiles(kTiles, work);
}

}  // namespace banyan::kernels::avx2
