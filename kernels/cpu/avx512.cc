#include "kernels/cpu/avx512.h"

#include "kernels/cpu/avx2.h"

namespace banyan::kernels::avx512 {

bool Runs() {
  __builtin_cpu_init();
  return avx2::Runs() && __builtin_cpu_supports("avx512f") != 0 &&
         __builtin_cpu_supports("avx512bw") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
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
    .quantize = avx2::Quantize,
    .rms_norm = avx2::RmsNorm,
    .rms_norm_add = avx2::RmsNormAdd,
    .add = avx2::Add,
    .gate_silu = avx2::GateSilu,
    .gate_gelu_tanh = avx2::GateGeluTanh,
    .rotate_neighbours = avx2::RotateNeighbours,
    .rotate_halves = avx2::RotateHalves,
    .kv_f16 = {avx2::StoreF16, AttendF16, avx2::WidenF16},
    .kv_bf16 = {avx2::StoreBf16, AttendBf16, avx2::WidenBf16},
    .kv_fp8 = {avx2::StoreFp8, AttendFp8, avx2::WidenFp8},
    .kv_int8 = {avx2::StoreInt8, AttendInt8, avx2::WidenInt8},
    .kv_int4 = {avx2::SealKeys, avx2::SealValues, AttendInt4},
    .merge = avx2::Merge,
    .finish = avx2::Finish,
    .score_bounds = avx2::ScoreBounds,
    .score_tile = avx2::ScoreTile,
    .add_probabilities = avx2::AddProbabilities,
};

}  // namespace banyan::kernels::avx512
