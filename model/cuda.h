// Decoders on a CUDA device.
//
// A program that has them is linked with the object of cuda.cc and a library of its kernels: the
// device's, or those that stand in for them (kernels/cuda/emulation). In all others the room's
// no_cuda.cc answers that there are none.
#pragma once

#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/decoder_shape.h"
#include "model/model.h"
#include "model/weights.h"

namespace banyan::model {

// `tensors` has what `shape` needs. Errors as Model::Load.
absl::StatusOr<std::unique_ptr<Model>> LoadOnCuda(const File& file, TensorSet& tensors,
                                                  const Options& options,
                                                  std::string_view architecture,
                                                  const DecoderShape& shape);

}  // namespace banyan::model
