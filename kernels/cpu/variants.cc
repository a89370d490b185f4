#include "kernels/cpu/variants.h"

#include "kernels/cpu/avx2.h"

namespace banyan::kernels {
namespace {

constexpr CpuVariant kVariants[] = {
    {"avx2", &avx2::kOps, avx2::Runs},
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
