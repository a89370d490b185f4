#include "kernels/cpu/avx2.h"

#include <cpuid.h>

namespace banyan::kernels::avx2 {
namespace {

bool HasF16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

}  // namespace

bool Runs() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && HasF16c();
}

const Ops kOps = {
    .matmul_f32 = MatMulF32,
    .matmul_f16 = MatMulF16,
    .matmul_bf16 = MatMulBF16,
    .matmul_q4_0 = MatMulQ4_0,
    .matmul_q4_1 = MatMulQ4_1,
    .matmul_q5_0 = MatMulQ5_0,
    .matmul_q5_1 = MatMulQ5_1,
    .matmul_q8_0 = MatMulQ8_0,
    .matmul_q4_k = MatMulQ4_K,
    .matmul_q5_k = MatMulQ5_K,
    .matmul_q6_k = MatMulQ6_K,
    .quantize = Quantize,
    .rms_norm = RmsNorm,
    .rms_norm_add = RmsNormAdd,
    .add = Add,
    .gate_silu = GateSilu,
    .gate_gelu_tanh = GateGeluTanh,
    .rotate_neighbours = RotateNeighbours,
    .rotate_halves = RotateHalves,
    .kv_f16 = {StoreF16, AttendF16, WidenF16},
    .kv_bf16 = {StoreBf16, AttendBf16, WidenBf16},
    .kv_fp8 = {StoreFp8, AttendFp8, WidenFp8},
    .kv_int8 = {StoreInt8, AttendInt8, WidenInt8},
    .kv_int4 = {SealKeys, SealValues, AttendInt4},
    .merge = Merge,
    .finish = Finish,
    .score_bounds = ScoreBounds,
    .score_tile = ScoreTile,
    .add_probabilities = AddProbabilities,
};

}  // namespace banyan::kernels::avx2
