#include "kernels/cpu/attend_avx2.h"

namespace banyan::kernels::avx2 {

void AttendF16(const AttendWork& work) { Attend<F16>(work); }

}  // namespace banyan::kernels::avx2
