// A set of instructions beside the portable one: the same numbers in, the same bits out; also where
// numbers are as large, as small or as broken as they can be. Of a NaN only that it is one.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/variants.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {

// Inputs are random, of about 1; or any of the numbers at which arithmetic has corners.
enum class Numbers { kUsual, kCorners };
inline constexpr Numbers kNumbers[] = {Numbers::kUsual, Numbers::kCorners};

class Source {
 public:
  Source(Numbers numbers, std::uint32_t seed) : numbers_(numbers), random_(seed) {}

  float Next() {
    if (numbers_ == Numbers::kUsual)
      return static_cast<float>(static_cast<std::int32_t>(random_())) * 0x1p-29F;  // -4..4
    using Limits = std::numeric_limits<float>;
    static constexpr float kCorners[] = {0.0F,
                                         1.0F,
                                         2.5F,
                                         127.0F,
                                         65504.0F,
                                         65519.996F,
                                         65520.0F,
                                         1e-30F,
                                         9.999999e-31F,
                                         0x1p-24F,
                                         0x1.8p-24F,
                                         0x1p-25F,
                                         0x1.ffcp-15F,
                                         0x1p-14F,
                                         87.336544F,
                                         88.376262F,
                                         88.8F,
                                         Limits::min(),
                                         Limits::denorm_min(),
                                         Limits::max(),
                                         Limits::infinity(),
                                         Limits::quiet_NaN(),
                                         1e18F,
                                         1e-18F};
    const std::uint32_t pick = random_();
    // Rarely the last six and often a usual number, so that not every sum is infinite or NaN.
    const std::size_t among = pick % 16 == 0 ? std::size(kCorners) : std::size(kCorners) - 6;
    const float value = pick % 4 == 1 ? std::ldexp(1.0F + static_cast<float>(pick >> 16) * 0x1p-16F,
                                                   static_cast<int>(pick >> 8 & 63) - 40)
                                      : kCorners[(pick >> 8) % among];
    return (pick & 0x80000000U) != 0 ? -value : value;
  }
  std::uint32_t Bits() { return random_(); }
  Row Values(std::int64_t n) {
    Row out(static_cast<std::size_t>(n));
    for (float& value : out) value = Next();
    return out;
  }
  Numbers numbers() const { return numbers_; }

 private:
  Numbers numbers_;
  std::mt19937 random_;
};

// The first value that differs, or nothing.
inline std::string Difference(const Row& a, const Row& b) {
  if (a.size() != b.size()) return "sizes differ";
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) {
      std::array<char, 96> text;
      std::snprintf(text.data(), text.size(), "value %zu: %a and not %a", i, a[i], b[i]);
      return text.data();
    }
  }
  return "";
}

class Variants : public ::testing::TestWithParam<CpuVariant> {
 protected:
  void SetUp() override {
    if (!GetParam().runs()) GTEST_SKIP() << "this machine does not run " << GetParam().name;
  }

  // `work` gives results by the operations of a variant, from a source that always says the same.
  template <class F>
  void CompareOnce(Numbers numbers, std::uint32_t seed, const F& work) {
    Row results[2];
    const Ops* ops[] = {GetParam().ops, FindCpuVariant("portable")->ops};
    for (int i = 0; i < 2; ++i) {
      Source source(numbers, seed);
      results[i] = work(*ops[i], source);
    }
    ASSERT_EQ(Difference(results[0], results[1]), "")
        << (numbers == Numbers::kUsual ? "usual" : "corners") << ", seed " << seed;
  }
  template <class F>
  void Compare(const F& work) {
    for (const Numbers numbers : kNumbers) {
      for (const std::uint32_t seed : {1, 2}) {
        CompareOnce(numbers, seed, work);
        if (HasFatalFailure()) return;
      }
    }
  }
};

inline std::vector<CpuVariant> AllButPortable() {
  std::vector<CpuVariant> out;
  for (const CpuVariant& variant : CpuVariants())
    if (std::string_view(variant.name) != "portable") out.push_back(variant);
  return out;
}

}  // namespace banyan::kernels::testing
