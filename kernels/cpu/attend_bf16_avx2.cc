#include "kernels/cpu/attend_avx2.h"

namespace banyan::kernels::avx2 {

void AttendBf16(const AttendWork& work) { Attend<Bf16>(work); }

}  // namespace banyan::kernels::avx2
