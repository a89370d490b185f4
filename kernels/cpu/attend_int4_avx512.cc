// Attention over one chunk of keys in 4 bits: attend_int4.h with 32 registers of sixteen lanes.

#include "kernels/cpu/attend_int4.h"
#include "kernels/cpu/avx512.h"
#include "kernels/cpu/lanes_avx2.h"
#include "kernels/cpu/lanes_avx512.h"

namespace banyan::kernels::avx512 {

void AttendInt4(const AttendWork& work) {
  static constexpr Tile kTiles[] = {
      AttendSealed<Lanes16, 1, 4, Lanes8>, AttendSealed<Lanes16, 2, 4, Lanes8>,
      AttendSealed<Lanes16, 3, 4, Lanes8>, AttendSealed<Lanes16, 4, 4, Lanes8>,
      AttendSealed<Lanes16, 5, 4, Lanes8>, AttendSealed<Lanes16, 6, 4, Lanes8>};
  AttendTiles(kTiles, work);
}

}  // namespace banyan::kernels::avx512
