#include "kernels/cpu/attend_avx512.h"

namespace banyan::kernels::avx512 {

void AttendFp8(const AttendWork& work) { Attend<Fp8>(work); }

}  // namespace banyan::kernels::avx512
