#include "kernels/cuda/attend.cuh"

namespace banyan::kernels::cuda {

template void AttendTiles<KvFormat::kInt8>(Stream, const AttendArguments&, std::int32_t,
                                           std::int32_t, const Output&);

}  // namespace banyan::kernels::cuda
