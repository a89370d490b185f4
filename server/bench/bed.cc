#include "server/bench/bed.h"

#include <utility>

namespace banyan::server {

using kernels::CpuBackend;
using kernels::DType;
using kernels::HostTensor;

std::vector<std::byte> AnyBytes(std::int64_t count) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(0x2c + ((i * 2654435761U) >> 13) % 4);
  }
  return bytes;
}

CpuBackend::Matrix Bed::Weights(DType type, std::int64_t outputs, std::int64_t cols) {
  const kernels::BlockShape shape = kernels::ShapeOf(type);
  const std::vector<std::byte> bytes = AnyBytes(outputs * cols / shape.block * shape.bytes);
  return backend_->PackMatrix({type, outputs, cols, bytes.data()});
}

CpuBackend::Vector Bed::Norm(std::int64_t cols) {
  const std::vector<float> ones(static_cast<std::size_t>(cols), 1.0F);
  return backend_->PackVector(
      {DType::kF32, 1, cols, reinterpret_cast<const std::byte*>(ones.data())});
}

CpuBackend::Activations Bed::Activations(std::int32_t rows, std::int64_t cols) {
  CpuBackend::Activations x = backend_->MakeActivations(rows, static_cast<std::int32_t>(cols));
  // Floats would make the backend keep its inputs as floats, too.
  const CpuBackend::Matrix values = Weights(cols % 32 == 0 ? DType::kQ8_0 : DType::kF32, 16, cols);
  std::vector<std::int32_t> ids;
  for (std::int32_t i = 0; i < rows; ++i) ids.push_back(i % 16);
  backend_->Embed(values, ids, 1.0F, x);
  return x;
}

CpuBackend::Input Bed::Input(std::int32_t rows, std::int64_t cols) {
  CpuBackend::Input in = backend_->MakeInput(rows, static_cast<std::int32_t>(cols));
  backend_->RmsNorm(Activations(rows, cols), Norm(cols), 1e-5F, rows, in);
  return in;
}

}  // namespace banyan::server
