#include "kernels/cpu/ops.h"

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/backend.h"

#include <cpuid.h>

namespace banyan::kernels {
namespace {

constexpr Ops kAvx2 = {
    .matmul_f32 = avx2::MatMulF32,
    .matmul_f16 = avx2::MatMulF16,
    .matmul_bf16 = avx2::MatMulBF16,
    .matmul_q4_0 = avx2::MatMulQ4_0,
    .matmul_q4_1 = avx2::MatMulQ4_1,
    .matmul_q5_0 = avx2::MatMulQ5_0,
    .matmul_q5_1 = avx2::MatMulQ5_1,
    .matmul_q8_0 = avx2::MatMulQ8_0,
    .matmul_q4_k = avx2::MatMulQ4_K,
    .matmul_q5_k = avx2::MatMulQ5_K,
    .matmul_q6_k = avx2::MatMulQ6_K,
    .quantize = avx2::Quantize,
    .rms_norm = avx2::RmsNorm,
    .rms_norm_add = avx2::RmsNormAdd,
    .add = avx2::Add,
    .gate_silu = avx2::GateSilu,
    .gate_gelu_tanh = avx2::GateGeluTanh,
    .rotate_neighbours = avx2::RotateNeighbours,
    .rotate_halves = avx2::RotateHalves,
    .store_f16 = avx2::StoreF16,
    .widen_keys = avx2::WidenKeys,
    .widen_values = avx2::WidenValues,
    .attend = avx2::Attend,
    .merge = avx2::Merge,
    .finish = avx2::Finish,
};

bool HasF16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

std::vector<std::string> MissingCpuFeatures() {
  __builtin_cpu_init();
  std::vector<std::string> missing;
  if (!__builtin_cpu_supports("avx2")) missing.emplace_back("AVX2");
  if (!__builtin_cpu_supports("fma")) missing.emplace_back("FMA");
  if (!HasF16c()) missing.emplace_back("F16C");
  return missing;
}

const Ops* ChooseOps() { return MissingCpuFeatures().empty() ? &kAvx2 : nullptr; }

}  // namespace banyan::kernels
