#include "model/cuda.h"

#include <cstdint>
#include <new>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "kernels/cuda/backend.h"
#include "model/decoder.h"
#include "model/transformer.h"

namespace banyan::model {
namespace {

using kernels::CudaBackend;
using kernels::cuda::Gemm;

// What the kernels take; the CPU's take more.
absl::Status CheckKernels(const DecoderShape& shape) {
  constexpr std::int32_t kUnit = 8;  // numbers of 16 bits in the vectors that are read
  const auto check = [](bool holds, const char* what, std::int32_t value, const char* allowed) {
    return holds ? absl::OkStatus()
                 : absl::UnimplementedError(
                       absl::StrCat("a device takes ", what, " of ", allowed, ", not ", value));
  };
  absl::Status status = check(shape.head_dim <= kernels::cuda::kMaxHeadDim, "heads", shape.head_dim,
                              "at most 256 numbers");
  const std::int32_t group = shape.heads / shape.kv_heads;
  status.Update(check(group <= kernels::cuda::kMaxGroup, "groups", group,
                      "at most 64 query heads for each KV head"));
  status.Update(check(shape.embedding % kUnit == 0, "embeddings", shape.embedding,
                      "a multiple of 8 numbers"));
  status.Update(check(shape.feed_forward % kUnit == 0, "feed-forward layers", shape.feed_forward,
                      "a multiple of 8 numbers"));
  return status;
}

std::int64_t WeightBytes(const File& file) {
  std::int64_t bytes = 0;
  for (const StoredTensor& tensor : file.tensors()) {
    const std::int64_t rows = tensor.dims[1] * tensor.dims[2] * tensor.dims[3];
    bytes += tensor.dims[0] * rows * (rows > 1 ? 2 : 4);  // vectors stay floats
  }
  return bytes;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Model>> LoadOnCuda(const File& file, TensorSet& tensors,
                                                  const Options& options,
                                                  std::string_view architecture,
                                                  const DecoderShape& shape) {
  if (absl::Status status = CheckKernels(shape); !status.ok()) return status;
  std::string why;
  std::unique_ptr<CudaBackend> backend = CudaBackend::Create(
      {.device = options.device,
       .gemm = {.rows = options.deterministic ? Gemm::Rows::kFixed : Gemm::Rows::kQuick}},
      &why);
  if (backend == nullptr) return absl::FailedPreconditionError(absl::StrCat("CUDA: ", why));
  const std::string device(backend->variant());
  const std::int64_t free = backend->FreeBytes();
  try {
    return Transformer<CudaBackend, Decoder<CudaBackend>>::Load(
        file, tensors, options, architecture, shape, std::move(backend));
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "weights of ", WeightBytes(file), " bytes in 16 bits, and the buffers for steps of ",
        options.max_batch_tokens, " tokens, do not fit: ", device, " has ", free, " bytes free"));
  }
}

}  // namespace banyan::model
