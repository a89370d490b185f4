#include "kernels/tensor.h"

#include <array>
#include <cmath>
#include <cstring>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/half.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels {
namespace {

using testing::FloatToHalf;

TEST(BlockShapes, AreThoseOfTheFormat) {
  struct Expected {
    std::uint32_t number;
    BlockShape shape;
  };
  const Expected all[] = {
      {0, {"F32", 1, 4}},       {1, {"F16", 1, 2}},       {2, {"Q4_0", 32, 18}},
      {3, {"Q4_1", 32, 20}},    {6, {"Q5_0", 32, 22}},    {7, {"Q5_1", 32, 24}},
      {8, {"Q8_0", 32, 34}},    {12, {"Q4_K", 256, 144}}, {13, {"Q5_K", 256, 176}},
      {14, {"Q6_K", 256, 210}}, {30, {"BF16", 1, 2}},
  };
  for (const Expected& expected : all) {
    const std::optional<BlockShape> shape = FindBlockShape(expected.number);
    ASSERT_TRUE(shape.has_value()) << expected.number;
    EXPECT_EQ(shape->name, expected.shape.name);
    EXPECT_EQ(shape->block, expected.shape.block);
    EXPECT_EQ(shape->bytes, expected.shape.bytes);
  }
}

TEST(BlockShapes, UnknownTypesHaveNone) {
  for (const std::uint32_t type : {4U, 5U, 9U, 10U, 11U, 15U, 29U, 31U, 0xffffffffU})
    EXPECT_FALSE(FindBlockShape(type).has_value()) << type;
}

TEST(HalfToFloat, EveryNumberKeepsItsValue) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = HalfToFloat(static_cast<std::uint16_t>(bits));
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const double fraction = bits & 1023;
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == 31) {
      EXPECT_EQ(std::isnan(value), fraction != 0);
      if (fraction == 0) {
        EXPECT_EQ(value, sign * INFINITY);
      }
      continue;
    }
    const double expected =
        exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    EXPECT_EQ(value, sign * expected) << bits;
    EXPECT_EQ(std::signbit(value), sign < 0) << bits;
    EXPECT_EQ(FloatToHalf(value), bits) << "the tests' own rounding";
  }
}

TEST(DequantizeRow, Q4_1LowNibblesComeFirst) {
  std::array<std::uint8_t, 20> block{};
  const std::uint16_t d = FloatToHalf(0.5F);
  const std::uint16_t m = FloatToHalf(-2.0F);
  std::memcpy(block.data(), &d, 2);
  std::memcpy(block.data() + 2, &m, 2);
  for (int i = 0; i < 16; ++i) block[4 + i] = static_cast<std::uint8_t>(i | (15 - i) << 4);
  std::array<float, 32> out{};
  DequantizeRow({DType::kQ4_1, 1, 32, reinterpret_cast<const std::byte*>(block.data())}, 0, out);
  for (int i = 0; i < 16; ++i) {
    EXPECT_EQ(out[i], 0.5F * i - 2.0F);
    EXPECT_EQ(out[i + 16], 0.5F * (15 - i) - 2.0F);
  }
}

TEST(DequantizeRow, Q8_0IsSignedAndRowsFollowEachOther) {
  std::array<std::uint8_t, 4 * 34> blocks{};  // two rows of two blocks
  for (int b = 0; b < 4; ++b) {
    const std::uint16_t d = FloatToHalf(static_cast<float>(1 << b));
    std::memcpy(blocks.data() + b * 34, &d, 2);
    for (int i = 0; i < 32; ++i) blocks[b * 34 + 2 + i] = static_cast<std::uint8_t>(i * 8 - 128);
  }
  std::array<float, 64> out{};
  DequantizeRow({DType::kQ8_0, 2, 64, reinterpret_cast<const std::byte*>(blocks.data())}, 1, out);
  for (int i = 0; i < 32; ++i) {
    EXPECT_EQ(out[i], 4.0F * (i * 8 - 128));
    EXPECT_EQ(out[32 + i], 8.0F * (i * 8 - 128));
  }
}

TEST(DequantizeRowDeathTest, RefusesWhatItIsNotGiven) {
  const std::array<float, 4> values{1, 2, 3, 4};
  const HostTensor tensor{DType::kF32, 2, 2, reinterpret_cast<const std::byte*>(values.data())};
  std::array<float, 2> out{};
  DequantizeRow(tensor, 1, out);
  EXPECT_THAT(out, ::testing::ElementsAre(3, 4));
  EXPECT_DEATH(DequantizeRow(tensor, 2, out), "no such row");
  EXPECT_DEATH(DequantizeRow(tensor, 0, std::span(out).first(1)), "one value per column");
}

}  // namespace
}  // namespace banyan::kernels
