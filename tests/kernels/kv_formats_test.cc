// The formats of pages: what they take, and what they keep of a number.

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cpu/variants.h"
#include "kernels/kv_shape.h"
#include "tests/kernels/kept.h"

namespace banyan::kernels::testing {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsNan;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::int64_t TokenBytes(std::int32_t layers, std::int32_t kv_heads, std::int32_t head_dim,
                        KvFormat format) {
  return BytesPerToken(
      {.layers = layers, .kv_heads = kv_heads, .head_dim = head_dim, .format = format});
}

TEST(KvShape, ATokenTakesItsNumbersAndItsScales) {
  // SmolLM2-135M
  EXPECT_EQ(TokenBytes(30, 3, 64, KvFormat::kF16), 23'040);
  EXPECT_EQ(TokenBytes(30, 3, 64, KvFormat::kBf16), 23'040);
  EXPECT_EQ(TokenBytes(30, 3, 64, KvFormat::kFp8), 11'520);
  EXPECT_EQ(TokenBytes(30, 3, 64, KvFormat::kInt8), 11'880);
  EXPECT_EQ(TokenBytes(30, 3, 64, KvFormat::kInt4), 7200);
  // Llama-3-8B
  EXPECT_EQ(TokenBytes(32, 8, 128, KvFormat::kF16), 131'072);
  EXPECT_EQ(TokenBytes(32, 8, 128, KvFormat::kInt8), 66'560);
  EXPECT_EQ(TokenBytes(32, 8, 128, KvFormat::kInt4), 40'960);
}

TEST(KvShape, OpenPagesAreOfF16WherePagesAreSealed) {
  KvShape shape = {.layers = 30,
                   .kv_heads = 3,
                   .head_dim = 64,
                   .page_size = 16,
                   .pages = 5,
                   .format = KvFormat::kInt4,
                   .open_pages = 64};
  EXPECT_EQ(OpenBytes(shape), 64 * 16 * 23'040);
  shape.format = KvFormat::kInt8;
  EXPECT_EQ(OpenBytes(shape), 0);
}

TEST(KvShape, FormatsAreFoundByName) {
  for (const KvFormat format : kKvFormats)
    EXPECT_EQ(FindKvFormat(LayoutOf(format).name), format) << LayoutOf(format).name;
  EXPECT_EQ(LayoutOf(KvFormat::kFp8).name, "fp8");
  for (const char* name : {"", "f32", "F16", "fp8 ", "int5"})
    EXPECT_EQ(FindKvFormat(name), std::nullopt);
}

// What is stored, by the portable functions, which the other sets of instructions are compared
// with.
struct Stored {
  Row numbers;  // without the scale
  std::uint16_t scale = 0;
};

Stored Store(KvFormat format, const Row& x) {
  const auto size = static_cast<std::size_t>(LayoutOf(format).bytes);
  std::vector<std::byte> bytes(x.size() * size);
  Stored out;
  KvOpsOf(*FindCpuVariant("portable")->ops, format)
      .store(x.data(), std::ssize(x), bytes.data(), &out.scale);
  for (std::size_t i = 0; i < x.size(); ++i)
    out.numbers.push_back(Decoded(format, bytes.data() + i * size));
  return out;
}

// Eight times the same.
float StoreOne(KvFormat format, float x) { return Store(format, Row(8, x)).numbers[0]; }

TEST(KvFormats, Bf16AndFp8RoundToNearestEven) {
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i) {
    const float x = std::ldexp(static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31F,
                               static_cast<int>(random() % 24) - 14);
    const Row row(8, x);
    for (const KvFormat format : {KvFormat::kF16, KvFormat::kBf16, KvFormat::kFp8})
      ASSERT_EQ(Store(format, row).numbers, Kept(format, row))
          << x << " in " << LayoutOf(format).name;
  }
}

TEST(KvFormats, EveryCodeOfE4M3IsKept) {
  for (int code = 0; code < 256; ++code) {
    const std::byte byte{static_cast<std::uint8_t>(code)};
    const float x = Decoded(KvFormat::kFp8, &byte);
    const float kept = StoreOne(KvFormat::kFp8, x);
    if (std::isnan(x))
      EXPECT_THAT(kept, IsNan());
    else
      EXPECT_EQ(kept, x);
    EXPECT_EQ(std::signbit(kept), std::signbit(x) && !std::isnan(x)) << code;
  }
}

TEST(KvFormats, E4M3Saturates) {
  const std::array<std::array<float, 2>, 12> pairs = {{{448, 448},
                                                       {400, 384},
                                                       {432, 448},
                                                       {464, 448},
                                                       {465, 448},
                                                       {1e30F, 448},
                                                       {-1e5F, -448},
                                                       {0x1p-9F, 0x1p-9F},
                                                       {0x1p-10F, 0},
                                                       {0x1.8p-10F, 0x1p-9F},
                                                       {0x1.8p-9F, 0x1p-8F},
                                                       {0x1.ep-7F, 0x1p-6F}}};
  for (const auto& [x, kept] : pairs) EXPECT_EQ(StoreOne(KvFormat::kFp8, x), kept) << x;
}

TEST(KvFormats, WhatIsNotFiniteIsNotLost) {
  EXPECT_EQ(StoreOne(KvFormat::kF16, kInfinity), kInfinity);
  EXPECT_EQ(StoreOne(KvFormat::kF16, 65520), kInfinity);
  EXPECT_EQ(StoreOne(KvFormat::kBf16, -kInfinity), -kInfinity);
  EXPECT_EQ(StoreOne(KvFormat::kBf16, std::numeric_limits<float>::max()), kInfinity);
  for (const float broken : {kInfinity, -kInfinity, kNaN, -kNaN}) {
    for (int at = 0; at < 16; ++at) {
      Row x(16, 1.0F);
      x[static_cast<std::size_t>(at)] = broken;
      EXPECT_THAT(Store(KvFormat::kFp8, x).numbers, Each(IsNan())) << broken << " at " << at;
      const Stored codes = Store(KvFormat::kInt8, x);
      EXPECT_THAT(HalfValue(codes.scale), IsNan()) << broken << " at " << at;
      EXPECT_THAT(codes.numbers, Each(0.0F));
    }
  }
  EXPECT_THAT(StoreOne(KvFormat::kF16, kNaN), IsNan());
  EXPECT_THAT(StoreOne(KvFormat::kBf16, kNaN), IsNan());
  // Past the greatest scale.
  EXPECT_THAT(HalfValue(Store(KvFormat::kInt8, Row(8, 127 * 65520.0F)).scale), IsNan());
  EXPECT_EQ(HalfValue(Store(KvFormat::kInt8, Row(8, 127 * 65504.0F)).scale), 65504);
}

TEST(KvFormats, Int8IsWithinHalfAStepOfItsScale) {
  std::mt19937 random(2);
  for (int i = 0; i < 2000; ++i) {
    Row x = RandomRows(1, 64, random(), std::ldexp(1.0F, static_cast<int>(random() % 16) - 8))[0];
    const Stored stored = Store(KvFormat::kInt8, x);
    const float scale = HalfValue(stored.scale);
    const Row kept = Kept(KvFormat::kInt8, x);
    float most = 0;
    for (std::size_t d = 0; d < x.size(); ++d) {
      ASSERT_EQ(stored.numbers[d] * scale, kept[d]);
      // The rounded scale may be under the greatest magnitude / 127 by 2^-11 of it.
      ASSERT_LE(std::fabs(stored.numbers[d] * scale - x[d]), scale * (0.5F + 127 * 0x1p-11F));
      most = std::max(most, std::fabs(stored.numbers[d]));
    }
    ASSERT_EQ(most, 127);
  }
}

TEST(KvFormats, Int8OfWhatIsTooSmallForAScale) {
  EXPECT_EQ(Store(KvFormat::kInt8, Row(8, 0.0F)).scale, 0);
  EXPECT_THAT(Store(KvFormat::kInt8, Row(8, 127 * 0x1p-26F)).numbers, Each(0.0F));
  // The least scale: twice that is beyond the greatest code.
  const Stored stored = Store(
      KvFormat::kInt8, {127 * 0x1p-24F, -0x1p-24F, 150 * 0x1p-24F, -180 * 0x1p-24F, 0, 0, 0, 0});
  EXPECT_EQ(stored.scale, 1);
  EXPECT_THAT(stored.numbers, ElementsAre(127, -1, 127, -127, 0, 0, 0, 0));
}

}  // namespace
}  // namespace banyan::kernels::testing
