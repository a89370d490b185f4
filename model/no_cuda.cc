#include "absl/status/status.h"
#include "model/cuda.h"

namespace banyan::model {

absl::StatusOr<std::unique_ptr<Model>> LoadOnCuda(const File& /*file*/, TensorSet& /*tensors*/,
                                                  const Options& /*options*/,
                                                  std::string_view /*architecture*/,
                                                  const DecoderShape& /*shape*/) {
  return absl::FailedPreconditionError("this build has no CUDA backend (docs/cuda.md)");
}

}  // namespace banyan::model
