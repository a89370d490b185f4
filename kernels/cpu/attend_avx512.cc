// Attention over one chunk of keys: attend_tile.h with 32 registers. The multiply-adds are as quick
// with eight lanes as with sixteen. Widening sixteen halves takes longer than eight twice; sixteen
// numbers of the other formats are widened sooner, and fewer instructions are left to issue.

#include <immintrin.h>

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

void AttendF16(const AttendWork& work) {
  static constexpr Tile kTiles[] = {AttendTile<Lanes8, F16, 1, 8>, AttendTile<Lanes8, F16, 2, 8>,
                                    AttendTile<Lanes8, F16, 3, 8>, AttendTile<Lanes8, F16, 4, 8>,
                                    AttendTile<Lanes8, F16, 5, 2>, AttendTile<Lanes8, F16, 6, 2>};
  AttendTiles(kTiles, work);
}

void AttendBf16(const AttendWork& work) { Attend<Bf16>(work); }
void AttendFp8(const AttendWork& work) { Attend<Fp8>(work); }
void AttendInt8(const AttendWork& work) { Attend<Int8>(work); }

}  // namespace banyan::kernels::avx512
