#include "tests/kernels/rig.h"

#include <cstdlib>
#include <cstring>

#include "kernels/cpu/variants.h"

namespace banyan::kernels::testing {
namespace {

HostTensor HostFloats(const std::vector<float>& flat, std::int64_t rows) {
  return {DType::kF32, rows, std::ssize(flat) / rows,
          reinterpret_cast<const std::byte*>(flat.data())};
}

void PutHalf(std::byte* at, float value) {
  const std::uint16_t half = FloatToHalf(value);
  std::memcpy(at, &half, sizeof half);
}

// An f16 of a block, and how large it may be for weights of about +-1.
struct Scale {
  int at;  // bytes
  float greatest;
};

std::vector<Scale> ScalesOf(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kBF16:
      return {};
    case DType::kF16:
      return {{0, 1.0F}};
    case DType::kQ4_0:
      return {{0, 1.0F / 8}};
    case DType::kQ5_0:
      return {{0, 1.0F / 16}};
    case DType::kQ8_0:
      return {{0, 1.0F / 128}};
    case DType::kQ4_1:
      return {{0, 1.0F / 8}, {2, -1.0F}};
    case DType::kQ5_1:
      return {{0, 1.0F / 16}, {2, -1.0F}};
    case DType::kQ4_K:
      return {{0, 1.0F / 8 / 32}, {2, 1.0F / 32}};
    case DType::kQ5_K:
      return {{0, 1.0F / 16 / 32}, {2, 1.0F / 32}};
    case DType::kQ6_K:
      return {{208, 1.0F / 32 / 64}};
  }
  return {};
}

}  // namespace

std::uint16_t FloatToHalf(float value) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520.0) return sign | 0x7c00;  // rounds past the greatest, 65504
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), -14);
  const auto steps = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  // steps is 1024 .. 2048 for normal numbers; a carry runs into the exponent as it should.
  return static_cast<std::uint16_t>(sign + ((exponent + 14) << 10) + steps);
}

float Half(float value) {
  const std::uint16_t half = FloatToHalf(value);
  float out = 0;
  DequantizeRow({DType::kF16, 1, 1, reinterpret_cast<const std::byte*>(&half)}, 0, {&out, 1});
  return out;
}

Rows RandomRows(int rows, int cols, std::uint32_t seed, float scale) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, scale);
  Rows out(static_cast<std::size_t>(rows), Row(static_cast<std::size_t>(cols)));
  for (Row& row : out)
    for (float& value : row) value = normal(random);
  return out;
}

RandomMatrix::RandomMatrix(DType type, std::int64_t rows, std::int64_t cols, std::uint32_t seed) {
  const BlockShape shape = ShapeOf(type);
  const std::int64_t blocks = rows * cols / shape.block;
  bytes_.resize(static_cast<std::size_t>(blocks * shape.bytes));
  host_ = {type, rows, cols, bytes_.data()};
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  for (std::byte& byte : bytes_) byte = static_cast<std::byte>(random());
  for (std::int64_t b = 0; b < blocks; ++b) {
    std::byte* at = bytes_.data() + b * shape.bytes;
    const float value = uniform(random);
    if (type == DType::kF32) std::memcpy(at, &value, sizeof value);
    if (type == DType::kBF16) std::memcpy(at, reinterpret_cast<const std::byte*>(&value) + 2, 2);
    for (const Scale& scale : ScalesOf(type)) PutHalf(at + scale.at, value * scale.greatest);
  }
}

Row RandomMatrix::Dequantized(std::int64_t row) const {
  Row out(static_cast<std::size_t>(host_.cols));
  DequantizeRow(host_, row, out);
  return out;
}

std::string_view TestedVariant() {
  const char* named = std::getenv("BANYAN_TEST_CPU_VARIANT");
  return named == nullptr ? "" : named;
}

CpuBackend::Matrix Rig::PackFloats(const Rows& rows) {
  std::vector<float> flat;
  for (const Row& row : rows) flat.insert(flat.end(), row.begin(), row.end());
  return backend->PackMatrix(HostFloats(flat, std::ssize(rows)));
}

CpuBackend::Vector Rig::PackVector(const Row& values) {
  return backend->PackVector(HostFloats(values, 1));
}

CpuBackend::Activations Rig::Load(const Rows& rows) {
  std::vector<std::int32_t> ids(rows.size());
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i);
  CpuBackend::Activations x = backend->MakeActivations(static_cast<std::int32_t>(rows.size()),
                                                       static_cast<std::int32_t>(rows[0].size()));
  backend->Embed(PackFloats(rows), ids, 1.0F, x);
  return x;
}

Rows Rig::Read(const CpuBackend::Activations& x, int rows) const {
  Rows out(static_cast<std::size_t>(rows), Row(static_cast<std::size_t>(x.cols())));
  for (int r = 0; r < rows; ++r) backend->ReadRow(x, r, out[static_cast<std::size_t>(r)]);
  return out;
}

const CpuBackend::Matrix& Rig::Identity(std::int32_t n) {
  const auto [at, missing] = identities_.try_emplace(n);
  if (missing) {
    Rows identity(static_cast<std::size_t>(n), Row(static_cast<std::size_t>(n)));
    for (std::size_t i = 0; i < identity.size(); ++i) identity[i][i] = 1.0F;
    at->second = PackFloats(identity);
  }
  return at->second;
}

Rows Rig::Floats(const CpuBackend::Input& in, int rows) {
  CpuBackend::Activations out = backend->MakeActivations(rows, in.cols());
  backend->MatMul(Identity(in.cols()), in, rows, out);
  return Read(out, rows);
}

Rows Rig::Quantized(const CpuBackend::Input& in, int rows) {
  const std::int64_t n = in.cols();
  std::vector<std::byte> bytes(static_cast<std::size_t>(n * n / 32 * 34));
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t b = 0; b < n / 32; ++b) {
      std::byte* block = bytes.data() + (i * n / 32 + b) * 34;
      PutHalf(block, 1.0F);
      if (i / 32 == b) block[2 + i % 32] = std::byte{1};
    }
  }
  CpuBackend::Activations out = backend->MakeActivations(rows, in.cols());
  backend->MatMul(backend->PackMatrix({DType::kQ8_0, n, n, bytes.data()}), in, rows, out);
  return Read(out, rows);
}

Row Rig::Gated(GateFunction function, const Row& gate, const Row& up) const {
  const Ops& ops = *FindCpuVariant(backend->variant())->ops;
  const auto op = function == GateFunction::kSilu ? ops.gate_silu : ops.gate_gelu_tanh;
  Row out(gate.size());
  op(gate.data(), up.data(), static_cast<std::int64_t>(gate.size()), {nullptr, out.data()});
  return out;
}

Row Rig::Rounded(const Row& x) const {
  std::vector<QuantBlock> blocks(x.size() / kQuantBlock);
  FindCpuVariant(backend->variant())
      ->ops->quantize(x.data(), static_cast<std::int64_t>(x.size()), {blocks.data(), nullptr});
  Row out;
  for (const QuantBlock& block : blocks)
    for (const std::int8_t q : block.q) out.push_back(block.scale * static_cast<float>(q));
  return out;
}

}  // namespace banyan::kernels::testing
