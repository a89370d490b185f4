// A CPU backend under test, with ways to put numbers in and to look at what came out.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string_view>
#include <vector>

#include "kernels/cpu/backend.h"
#include "kernels/tensor.h"

namespace banyan::kernels::testing {

using Row = std::vector<float>;
using Rows = std::vector<Row>;

// Round to nearest even by definition, from the double value.
std::uint16_t FloatToHalf(float value);
float Half(float value);  // as f16 would keep it

Rows RandomRows(int rows, int cols, std::uint32_t seed, float scale = 1.0F);

// A matrix as a file holds it, with random bits that make finite weights of about +-1.
class RandomMatrix {
 public:
  RandomMatrix(DType type, std::int64_t rows, std::int64_t cols, std::uint32_t seed);
  const HostTensor& host() const { return host_; }
  Row Dequantized(std::int64_t row) const;

 private:
  std::vector<std::byte> bytes_;
  HostTensor host_;
};

// The set of instructions under test, which the environment names (BANYAN_TEST_CPU_VARIANT); empty:
// the one that this machine would choose.
std::string_view TestedVariant();

class Rig {
 public:
  explicit Rig(int threads = 1) : backend(CpuBackend::Create(threads, TestedVariant())) {}

  CpuBackend::Matrix PackFloats(const Rows& rows);
  CpuBackend::Vector PackVector(const Row& values);
  CpuBackend::Activations Load(const Rows& rows);
  Rows Read(const CpuBackend::Activations& x, int rows) const;
  // The values of an input as matrices of floats read them, and as quantized ones do. The first
  // holds only for inputs written after KeepFloats().
  Rows Floats(const CpuBackend::Input& in, int rows);
  Rows Quantized(const CpuBackend::Input& in, int rows);
  // function(gate[i]) * up[i], by the backend's variant.
  Row Gated(GateFunction function, const Row& gate, const Row& up) const;
  // A row as quantized matrices read it; whole blocks of 32.
  Row Rounded(const Row& x) const;
  void KeepFloats() { PackFloats({{1.0F}}); }

  std::unique_ptr<CpuBackend> backend;

 private:
  const CpuBackend::Matrix& Identity(std::int32_t n);

  std::map<std::int32_t, CpuBackend::Matrix> identities_;
};

}  // namespace banyan::kernels::testing
