#include "kernels/cpu/variants.h"

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/avx512.h"
#include "kernels/cpu/portable.h"
#include "kernels/require.h"

namespace banyan::kernels {
namespace {

constexpr CpuVariant kVariants[] = {
#ifdef __x86_64__
    {"avx512", &avx512::kOps, avx512::Runs},
    {"avx2", &avx2::kOps, avx2::Runs},
#endif
    {"portable", &portable::kOps, portable::Runs},
};

}  // namespace

Ops::MatMul MatMulOf(const Ops& ops, DType type) {
  switch (type) {
    case DType::kF32:
      return ops.matmul_f32;
    case DType::kF16:
      return ops.matmul_f16;
    case DType::kBF16:
      return ops.matmul_bf16;
    case DType::kQ4_0:
      return ops.matmul_q4_0;
    case DType::kQ4_1:
      return ops.matmul_q4_1;
    case DType::kQ5_0:
      return ops.matmul_q5_0;
    case DType::kQ5_1:
      return ops.matmul_q5_1;
    case DType::kQ8_0:
      return ops.matmul_q8_0;
    case DType::kQ4_K:
      return ops.matmul_q4_k;
    case DType::kQ5_K:
      return ops.matmul_q5_k;
    case DType::kQ6_K:
      return ops.matmul_q6_k;
  }
  RequireFailed("a tensor type outside DType");
}

const KvOps& KvOpsOf(const Ops& ops, KvFormat format) {
  switch (format) {
    case KvFormat::kF16:
      return ops.kv_f16;
    case KvFormat::kBf16:
      return ops.kv_bf16;
    case KvFormat::kFp8:
      return ops.kv_fp8;
    case KvFormat::kInt8:
      return ops.kv_int8;
    case KvFormat::kInt4:
      RequireFailed("tiles in 4 bits have operations of their own");
  }
  RequireFailed("a format of pages outside KvFormat");
}

std::span<const CpuVariant> CpuVariants() { return kVariants; }

const CpuVariant* FindCpuVariant(std::string_view name) {
  for (const CpuVariant& variant : kVariants) {
    if ((name.empty() || name == variant.name) && variant.runs()) return &variant;
  }
  return nullptr;
}

}  // namespace banyan::kernels
