// The sets of instructions that the CPU backend is compiled for. Results are the same bits with all
// of them.
#pragma once

#include <span>
#include <string_view>

#include "kernels/cpu/ops.h"
#include "kernels/kv_shape.h"
#include "kernels/tensor.h"

namespace banyan::kernels {

// The product with weights of that type.
Ops::MatMul MatMulOf(const Ops& ops, DType type);
const KvOps& KvOpsOf(const Ops& ops, KvFormat format);

struct CpuVariant {
  const char* name = nullptr;
  const Ops* ops = nullptr;
  bool (*runs)() = nullptr;  // on this machine
};

// The quickest first.
std::span<const CpuVariant> CpuVariants();

// The quickest that this machine runs, or the one of that name if it runs it; else null.
const CpuVariant* FindCpuVariant(std::string_view name = "");

}  // namespace banyan::kernels
