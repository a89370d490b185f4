#include "kernels/cpu/variants.h"

#include "kernels/cpu/avx2.h"
#include "kernels/cpu/avx512.h"
#include "kernels/cpu/portable.h"

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

std::span<const CpuVariant> CpuVariants() { return kVariants; }

const CpuVariant* FindCpuVariant(std::string_view name) {
  for (const CpuVariant& variant : kVariants) {
    if ((name.empty() || name == variant.name) && variant.runs()) return &variant;
  }
  return nullptr;
}

}  // namespace banyan::kernels
