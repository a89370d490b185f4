#include "kernels/cpu/attend_avx512.h"

namespace banyan::kernels::avx512 {

void AttendInt8(const AttendWork& work) { Attend<Int8>(work); }

}  // namespace banyan::kernels::avx512
