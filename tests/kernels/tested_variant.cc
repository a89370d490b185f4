// Tests of a set of instructions that this machine does not run are skipped, and say so.

#include <algorithm>
#include <string>

#include "gtest/gtest.h"
#include "kernels/cpu/variants.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

class MachineRunsTheVariant : public ::testing::Environment {
  void SetUp() override {
    const std::string_view name = TestedVariant();
    const auto is_it = [&](const CpuVariant& variant) {
      return name.empty() || name == variant.name;
    };
    if (std::ranges::none_of(CpuVariants(), is_it)) FAIL() << "no variant is named " << name;
    if (FindCpuVariant(name) == nullptr) GTEST_SKIP() << "this machine does not run " << name;
  }
};

[[maybe_unused]] const auto* const kEnvironment =
    ::testing::AddGlobalTestEnvironment(new MachineRunsTheVariant);

}  // namespace
}  // namespace banyan::kernels::testing
