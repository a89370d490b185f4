#include "kernels/cpu/attend_avx2.h"

namespace banyan::kernels::avx2 {

void AttendInt8(const AttendWork& work) { Attend<Int8>(work); }

}  // namespace banyan::kernels::avx2
