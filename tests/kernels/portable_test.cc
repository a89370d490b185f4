// What the portable functions are made of.

#include <bit>
#include <cmath>
#include <limits>

#include "gtest/gtest.h"
#include "kernels/cpu/math_portable.h"
#include "kernels/half.h"
#include "tests/kernels/variant_comparison.h"

namespace banyan::kernels::testing {
namespace {

TEST(Portable, FmaRoundsOnceAsTheLibrarysDoes) {
  Source usual(Numbers::kUsual, 1);
  Source corners(Numbers::kCorners, 2);
  for (int i = 0; i < 300'000; ++i) {
    Source& source = i % 2 == 0 ? usual : corners;
    float a = source.Next();
    float b = source.Next();
    float c = source.Next();
    if (i % 3 == 0) {  // any numbers at all
      a = std::bit_cast<float>(source.Bits());
      b = std::bit_cast<float>(source.Bits());
      c = std::bit_cast<float>(source.Bits());
    }
    if (i % 5 == 0) {  // a sum just beside, or at, the middle of two floats
      a = 1.0F + static_cast<float>(source.Bits() % 4096) * 0x1p-12F;
      b = 1.0F + static_cast<float>(source.Bits() % 4096) * 0x1p-12F;
      c = std::ldexp(source.Bits() % 2 == 0 ? 1.0F : -1.0F,
                     static_cast<int>(source.Bits() % 60) - 30);
    }
    ASSERT_EQ(Difference({portable::Fma(a, b, c)}, {std::fma(a, b, c)}), "")
        << std::hexfloat << a << " * " << b << " + " << c;
  }
}

TEST(Portable, HalvesRoundAsTheirDefinitionSays) {
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    const float value = HalfToFloat(static_cast<std::uint16_t>(half));
    if (std::isnan(value)) {
      ASSERT_GT(half & 0x7fff, 0x7c00) << half;
      ASSERT_TRUE(std::isnan(HalfToFloat(kernels::FloatToHalf(value))));
      continue;
    }
    ASSERT_EQ(kernels::FloatToHalf(value), half);
    const float next = HalfToFloat(static_cast<std::uint16_t>(half + 1));
    for (const float v : {(value + next) / 2, std::nextafter(value, 1e9F)}) {
      if (std::isnan(v)) continue;
      ASSERT_EQ(kernels::FloatToHalf(v), FloatToHalf(v)) << std::hexfloat << v;
    }
  }
}

TEST(Portable, Exp2IsAccurateOverItsRange) {
  for (int i = 0; i <= 126 * 4096; ++i) {
    const float x = -static_cast<float>(i) / 4096 * 0.9999999F;
    const double exact = std::exp2(static_cast<double>(x));
    const double unit = std::ldexp(1.0, std::ilogb(exact) - 23);
    ASSERT_LE(std::abs(portable::Exp2(x) - exact), 2 * unit) << x;
  }
  EXPECT_EQ(portable::Exp2(0.0F), 1.0F);
  EXPECT_EQ(portable::Exp2(-0.0F), 1.0F);
  for (float x = -126.0F; x > -127.0F; x = std::nextafter(x - 1e-3F, -200.0F)) {
    EXPECT_GE(portable::Exp2(x), 0.0F) << x;
    EXPECT_LE(portable::Exp2(x), 0x1p-126F) << x;
  }
  for (const float x : {-127.0F, -127.5F, -1e30F, -std::numeric_limits<float>::infinity()})
    EXPECT_EQ(std::bit_cast<std::uint32_t>(portable::Exp2(x)), 0U) << x;
  EXPECT_TRUE(std::isnan(portable::Exp2(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace banyan::kernels::testing
