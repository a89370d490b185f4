// The llama architecture on the CPU.
#include "model/llama.h"

#include <memory>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "kernels/cpu/backend.h"
#include "model/architectures.h"
#include "model/transformer.h"

namespace banyan::model {

absl::Status CheckLlama(const File& file) {
  const absl::StatusOr<LlamaShape> shape = LlamaShape::Read(file);
  if (!shape.ok()) return shape.status();
  if (const std::vector<std::string> missing = kernels::MissingCpuFeatures(); !missing.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("this machine lacks instructions that the CPU backend needs: ",
                     absl::StrJoin(missing, ", ")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<Model>> LoadLlama(const File& file, const Options& options) {
  if (absl::Status status = CheckLlama(file); !status.ok()) return status;
  const absl::StatusOr<LlamaShape> shape = LlamaShape::Read(file);
  return Transformer<kernels::CpuBackend, Llama<kernels::CpuBackend>>::Load(
      file, options, "llama", *shape, kernels::CpuBackend::Create(options.threads));
}

}  // namespace banyan::model
