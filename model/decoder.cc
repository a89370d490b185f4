// Decoders of a file, and those on the CPU.
#include "model/decoder.h"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "kernels/cpu/backend.h"
#include "model/architectures.h"
#include "model/cuda.h"
#include "model/transformer.h"

namespace banyan::model {
namespace {

// Takes weights and keeps nothing: shows whether a file has what a shape needs.
struct Nowhere {
  struct Weight {
    std::int64_t bytes() const { return 0; }
  };
  using Matrix = Weight;
  using Vector = Weight;
  Weight PackMatrix(const kernels::HostTensor& /*host*/) { return {}; }
  Weight PackVector(const kernels::HostTensor& /*host*/) { return {}; }
};

absl::StatusOr<DecoderShape> ReadShape(const Architecture& architecture, const File& file,
                                       TensorSet& tensors) {
  Settings settings(file.metadata(), std::string(architecture.name));
  DecoderShape shape = architecture.read(settings, tensors);
  if (!settings.status().ok()) return settings.status();
  return shape;
}

absl::StatusOr<std::unique_ptr<Model>> LoadOnCpu(const File& file, TensorSet& tensors,
                                                 const Options& options,
                                                 std::string_view architecture,
                                                 const DecoderShape& shape) {
  using kernels::CpuBackend;
  std::unique_ptr<CpuBackend> backend = CpuBackend::Create(
      options.threads, options.cpu_variant,
      options.bind_threads ? CpuBackend::Threads::kBound : CpuBackend::Threads::kFree);
  if (backend == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("this machine does not run the instructions ", Quote(options.cpu_variant)));
  }
  return Transformer<CpuBackend, Decoder<CpuBackend>>::Load(file, tensors, options, architecture,
                                                            shape, std::move(backend));
}

}  // namespace

std::vector<std::string> CpuVariants() {
  const std::vector<std::string_view> names = kernels::CpuBackend::Variants();
  return {names.begin(), names.end()};
}

absl::StatusOr<DecoderShape> CheckDecoder(const Architecture& architecture, const File& file) {
  TensorSet tensors(file);
  absl::StatusOr<DecoderShape> shape = ReadShape(architecture, file, tensors);
  if (!shape.ok()) return shape;
  Nowhere nowhere;
  WeightPacker<Nowhere> packer(nowhere, tensors);
  const DecoderWeights<Nowhere> weights(*shape, packer);
  if (!packer.ok()) return packer.status();
  if (absl::Status status = tensors.CheckAllTaken(architecture.name); !status.ok()) return status;
  return shape;
}

absl::StatusOr<std::unique_ptr<Model>> LoadDecoder(const Architecture& architecture,
                                                   const File& file, const Options& options) {
  const absl::StatusOr<DecoderShape> shape = CheckDecoder(architecture, file);
  if (!shape.ok()) return shape.status();
  if (const std::vector<std::string> types = UnsupportedTypes(file); !types.empty()) {
    return absl::UnimplementedError(types.front());
  }
  TensorSet tensors(file);
  const auto load = options.backend == Backend::kCuda ? LoadOnCuda : LoadOnCpu;
  return load(file, tensors, options, architecture.name, *shape);
}

}  // namespace banyan::model
