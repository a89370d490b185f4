#include "kernels/cpu/attend_avx512.h"

namespace banyan::kernels::avx512 {

void AttendBf16(const AttendWork& work) { Attend<Bf16>(work); }

}  // namespace banyan::kernels::avx512
