#include "kernels/cpu/attend_avx2.h"

namespace banyan::kernels::avx2 {

void AttendFp8(const AttendWork& work) { Attend<Fp8>(work); }

}  // namespace banyan::kernels::avx2
