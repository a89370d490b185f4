// The CPU's backend and the CUDA one, with the same numbers put into them and read from them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/backend.h"
#include "kernels/cuda/backend.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {

inline std::unique_ptr<CudaBackend> MakeCuda() {
  std::string why;
  std::unique_ptr<CudaBackend> backend =
      CudaBackend::Create({.numbers = cuda::NumberType::kF16}, &why);
  EXPECT_NE(backend, nullptr) << why;
  return backend;
}
inline std::unique_ptr<CpuBackend> MakeCpu() { return CpuBackend::Create(1); }

// Numbers that f16 has, so that both backends load the same.
inline Rows HalfRows(int rows, int cols, std::uint32_t seed) {
  Rows out = RandomRows(rows, cols, seed);
  for (Row& row : out)
    for (float& x : row) x = Half(x);
  return out;
}

template <class B>
typename B::Matrix Pack(B& backend, const Rows& rows) {
  Row flat;
  for (const Row& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return backend.PackMatrix({DType::kF32, std::ssize(rows), std::ssize(rows[0]),
                             reinterpret_cast<const std::byte*>(flat.data())});
}

template <class B>
typename B::Activations Load(B& backend, const Rows& rows) {
  std::vector<std::int32_t> ids(rows.size());
  std::iota(ids.begin(), ids.end(), 0);
  auto x = backend.MakeActivations(static_cast<std::int32_t>(rows.size()),
                                   static_cast<std::int32_t>(rows[0].size()));
  backend.Embed(Pack(backend, rows), ids, 1.0F, x);
  return x;
}

template <class B>
Rows Read(const B& backend, const typename B::Activations& x) {
  Rows out(static_cast<std::size_t>(x.max_rows()), Row(static_cast<std::size_t>(x.cols())));
  for (std::int32_t row = 0; row < x.max_rows(); ++row) backend.ReadRow(x, row, out[row]);
  return out;
}

// What rows attend to.
template <class B>
Rows Attended(B& backend, const typename B::Activations& q, const AttentionSpan& span,
              std::span<const RowRun> runs, std::int32_t layer) {
  Rows identity(static_cast<std::size_t>(q.cols()), Row(static_cast<std::size_t>(q.cols())));
  for (std::size_t i = 0; i < identity.size(); ++i) identity[i][i] = 1.0F;
  auto in = backend.MakeInput(q.max_rows(), q.cols());
  backend.Attend(q, span, runs, layer, in);
  auto out = backend.MakeActivations(q.max_rows(), q.cols());
  backend.MatMul({Pack(backend, identity)}, in, q.max_rows(), out);
  return Read(backend, out);
}

}  // namespace banyan::kernels::testing
