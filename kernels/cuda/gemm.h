// Products of activations and weights by cuBLASLt: numbers of 16 bits, sums of 32.
// gemm_device.cc makes them; emulation/gemm.cc stands in where there is no device.
//
// Thread safety: one thread at a time. Its workspace is of one stream at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/runtime.h"

namespace banyan::kernels::cuda {

// y = x w^T + bias, or y += x w^T + bias; w is [outputs, inputs], x [rows, inputs], y [rows,
// outputs].
struct GemmCall {
  Numbers weights;  // Half or Bf16, and x alike
  Numbers x;
  float* y = nullptr;
  const float* bias = nullptr;  // [outputs] or null
  std::int64_t outputs = 0;
  std::int64_t inputs = 0;  // a multiple of 8, as outputs is: vectors of 16 bytes
  std::int32_t rows = 0;
  std::int32_t max_rows = 0;  // of which x and y have the memory; of Gemm::Rows::kFixed
  bool adds = false;          // to y
};

class Gemm {
 public:
  // kQuick: the algorithm for a product's own number of rows, so a row's last bits may differ from
  // batch to batch. kFixed: one algorithm for a matrix and max_rows, whatever the rows, so they do
  // not; all of max_rows are computed, of which those behind the last are scratch.
  enum class Rows : std::uint8_t { kQuick, kFixed };
  struct Options {
    Rows rows = Rows::kQuick;
    std::size_t workspace_bytes = std::size_t{32} << 20;
  };
  static constexpr std::size_t kMaxAlgorithms = 4096;  // kept; a call beyond asks again each time

  // Null when its memory cannot be had.
  static std::unique_ptr<Gemm> Create(const Options& options);
  virtual ~Gemm() = default;

  // No shape is split along `inputs`: the same call gives the same bits. A shape that the device
  // refuses is its first error (runtime.h).
  virtual void Multiply(const GemmCall& call, Stream stream) = 0;
};

}  // namespace banyan::kernels::cuda
