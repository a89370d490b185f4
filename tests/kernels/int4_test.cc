// Tiles sealed in 4 bits: what they keep of keys and values, and what attention makes of them.

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cpu/variants.h"
#include "tests/kernels/attend_comparison.h"
#include "tests/kernels/rig.h"
#include "tests/kernels/sealed.h"

namespace banyan::kernels::testing {
namespace {

using ::testing::Each;
using ::testing::IsNan;

const Ops& Portable() { return *FindCpuVariant("portable")->ops; }

// A tile of sixteen keys, or values, of 32 dimensions, as pages of f16 have it.
using Halves = std::vector<std::uint16_t>;
constexpr int kDims = 32;

// Keys of which dimension 0 is given.
SealedTile SealDimension(const Row& sixteen) {
  Halves tile(kTileKeys * kDims);
  for (std::size_t i = 0; i < sixteen.size(); ++i) tile[i] = FloatToHalf(sixteen[i]);
  SealedTile out(kDims);
  Portable().kv_int4.seal_keys(tile.data(), kDims, out.Keys());
  return out;
}
Row KeysOf(const SealedTile& tile, int d) {
  Row out;
  for (int i = 0; i < kTileKeys; ++i) out.push_back(tile.Key(i, d));
  return out;
}

// Values of which the first is given.
SealedTile SealValue(const Row& x) {
  Halves tile(kTileKeys * kDims);
  for (std::size_t d = 0; d < x.size(); ++d) tile[d] = FloatToHalf(x[d]);
  SealedTile out(kDims);
  Portable().kv_int4.seal_values(tile.data(), kDims, out.Values());
  return out;
}
Row ValueOf(const SealedTile& tile, int i) {
  Row out;
  for (int d = 0; d < kDims; ++d) out.push_back(tile.Value(i, d));
  return out;
}

TEST(SealedKeys, EachDimensionHasItsRange) {
  // Far from 0, and none of them 0.
  Row x;
  for (int i = 0; i < kTileKeys; ++i) x.push_back(20.0F + 0.25F * static_cast<float>(i));
  const SealedTile tile = SealDimension(x);
  EXPECT_EQ(HalfValue(tile.key_scales[0]), 0.25F);
  EXPECT_EQ(tile.key_zeros[0], -80);
  EXPECT_EQ(KeysOf(tile, 0), x);
  EXPECT_THAT(KeysOf(tile, 1), Each(0.0F));
}

TEST(SealedKeys, AreWithinHalfAStep) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    Row x = RandomRows(1, kTileKeys, seed, std::ldexp(1.0F, static_cast<int>(seed % 16) - 8))[0];
    const float offset = x[0] * static_cast<float>(seed % 7);
    for (float& value : x) value = Half(value + offset);
    const SealedTile tile = SealDimension(x);
    const auto [least, greatest] = std::ranges::minmax(x);
    const float scale = HalfValue(tile.key_scales[0]);
    const float most = std::max(std::fabs(least), std::fabs(greatest));
    ASSERT_NEAR(scale, std::max((greatest - least) / 15, most / 127), scale * 0x1p-11F);
    // The rounded scale leaves fifteen steps short by up to 15 times 2^-11 of one.
    for (int i = 0; i < kTileKeys; ++i)
      ASSERT_LE(std::fabs(tile.Key(i, 0) - x[SealedTile::Index(i)]), scale * 0.51F) << seed;
  }
}

TEST(SealedKeys, OneNumberIsKept) {
  for (const float x : {1.0F, -1.0F, 127.0F, -65504.0F, 0x1p-14F}) {
    const SealedTile tile = SealDimension(Row(kTileKeys, x));
    EXPECT_NEAR(tile.Key(3, 0) / x, 1.0F, 0x1p-10F) << x;
  }
  EXPECT_EQ(SealDimension(Row(kTileKeys, 0.0F)).key_scales[0], 0);
  EXPECT_EQ(SealDimension(Row(kTileKeys, -0.0F)).key_scales[0], 0);
  EXPECT_THAT(KeysOf(SealDimension(Row(kTileKeys, 0x1p-24F)), 0), Each(0.0F));  // under any scale
}

TEST(SealedKeys, ADimensionThatIsNotFiniteIsNaN) {
  for (const float broken :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    for (std::size_t at = 0; at < kTileKeys; ++at) {
      Row x(kTileKeys, 1.0F);
      x[at] = broken;
      const SealedTile tile = SealDimension(x);
      EXPECT_THAT(KeysOf(tile, 0), Each(IsNan())) << broken << " at " << at;
      EXPECT_THAT(KeysOf(tile, 1), Each(0.0F));
    }
  }
}

TEST(SealedValues, TheGreatestMagnitudeIsKept) {
  Row x(kDims, 0.5F);
  x[17] = -2.0F;
  x[3] = 2.0F;
  SealedTile tile = SealValue(x);
  EXPECT_EQ(HalfValue(tile.value_scales[0]), -0.25F);  // of two the positive one is kept
  EXPECT_EQ(tile.Value(0, 3), 2.0F);
  EXPECT_EQ(tile.Value(0, 17), -1.75F);
  EXPECT_EQ(tile.Value(0, 0), 0.5F);
  x[3] = 1.5F;
  tile = SealValue(x);
  EXPECT_EQ(HalfValue(tile.value_scales[0]), 0.25F);
  EXPECT_EQ(tile.Value(0, 17), -2.0F);
  EXPECT_EQ(tile.Value(0, 3), 1.5F);
  EXPECT_THAT(ValueOf(tile, 1), Each(0.0F));
}

TEST(SealedValues, AreWithinAStep) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    Row x = RandomRows(1, kDims, seed, std::ldexp(1.0F, static_cast<int>(seed % 16) - 8))[0];
    for (float& value : x) value = Half(value);
    const SealedTile tile = SealValue(x);
    const float scale = std::fabs(HalfValue(tile.value_scales[0]));
    for (int d = 0; d < kDims; ++d)
      ASSERT_LE(std::fabs(tile.Value(0, d) - x[SealedTile::Index(d)]), scale * 1.01F) << seed;
  }
}

TEST(SealedValues, OfWhatHasNoScale) {
  EXPECT_EQ(SealValue(Row(kDims, -0.0F)).value_scales[0], 0);
  EXPECT_THAT(ValueOf(SealValue(Row(kDims, 0x1p-24F)), 0), Each(0.0F));
  for (std::size_t at = 0; at < kDims; ++at) {
    Row x(kDims, 1.0F);
    x[at] = std::numeric_limits<float>::infinity();
    EXPECT_THAT(ValueOf(SealValue(x), 0), Each(IsNan()));
  }
}

// A chunk of random keys and values, sealed.
class SealedChunk {
 public:
  SealedChunk(int head_dim, Source& source) {
    for (int t = 0; t < kChunkKeys / kTileKeys; ++t) {
      SealedTile& tile = tiles_.emplace_back(head_dim);
      Halves halves;
      for (int i = 0; i < 2 * kTileKeys * head_dim; ++i)
        halves.push_back(FloatToHalf(source.Next()));
      Portable().kv_int4.seal_keys(halves.data(), head_dim, tile.Keys());
      Portable().kv_int4.seal_values(halves.data() + kTileKeys * head_dim, head_dim, tile.Values());
    }
  }

  // With NaN in place of values that are not to be read. No address of a tile of which no key is
  // seen.
  template <class F>
  ChunkTiles Tiles(const F& is_seen) {
    ChunkTiles out = {};
    for (int j = 0; j < kChunkKeys; ++j) {
      const int t = j / kTileKeys;
      SealedTile& tile = tiles_[SealedTile::Index(t)];
      if (is_seen(j)) {
        out.keys[t] = tile.key_codes.data();
        out.values[t] = tile.value_codes.data();
        out.key_scales[t] = tile.key_scales.data();
        out.key_zeros[t] = tile.key_zeros.data();
        out.value_scales[t] = tile.value_scales.data();
      } else {
        for (int d = 0; d < tile.head_dim; d += kSealedDims)
          tile.value_scales[SealedTile::Index(d / kSealedDims * kTileKeys + j % kTileKeys)] =
              0xffff;
      }
    }
    return out;
  }

  const SealedTile& OfKey(int j) const { return tiles_[SealedTile::Index(j / kTileKeys)]; }

 private:
  std::vector<SealedTile> tiles_;
};

// By definition, in double precision.
Row Attention(const SealedChunk& chunk, const Row& query, int first, int last, double scale) {
  std::vector<double> scores;
  for (int j = first; j < last; ++j) {
    double score = 0;
    for (int d = 0; d < std::ssize(query); ++d)
      score += double{query[SealedTile::Index(d)]} * chunk.OfKey(j).Key(j % kTileKeys, d);
    scores.push_back(score * scale);
  }
  const double most = *std::ranges::max_element(scores);
  double sum = 0;
  std::vector<double> out(query.size());
  for (int j = first; j < last; ++j) {
    const double weight = std::exp(scores[SealedTile::Index(j - first)] - most);
    sum += weight;
    for (int d = 0; d < std::ssize(query); ++d)
      out[SealedTile::Index(d)] += weight * chunk.OfKey(j).Value(j % kTileKeys, d);
  }
  Row result;
  for (const double x : out) result.push_back(static_cast<float>(x / sum));
  return result;
}

TEST(SealedAttention, IsThatOfWhatTilesSay) {
  constexpr int kHeadDim = 96;
  Source source(Numbers::kUsual, 5);
  SealedChunk chunk(kHeadDim, source);
  const ChunkTiles tiles = chunk.Tiles([](int) { return true; });
  constexpr std::pair<int, int> kSeen[] = {{0, 64}, {0, 1}, {5, 40}, {63, 64}};
  for (const auto& [first, last] : kSeen) {
    const Row query = source.Values(kHeadDim);
    Row result(kPartialHeader + kHeadDim);
    const AttendQuery work = {query.data(), first, last, result.data()};
    Portable().kv_int4.attend({.chunk = &tiles,
                               .head_dim = kHeadDim,
                               .scale = 0.1F,
                               .queries = &work,
                               .count = 1,
                               .into = AttendInto::kPartials});
    Row out(kHeadDim);
    Portable().finish(result.data(), kHeadDim, out.data());
    const Row expected = Attention(chunk, query, first, last, 0.1F);
    for (std::size_t d = 0; d < kHeadDim; ++d) ASSERT_NEAR(out[d], expected[d], 1e-4F) << d;
  }
}

// The same bits with every set of instructions.

INSTANTIATE_TEST_SUITE_P(Cpu, Variants, ::testing::ValuesIn(AllButPortable()),
                         [](const auto& named) { return std::string(named.param.name); });
// A processor may have no variant but the portable one.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Variants);

// A tile as values.
void Append(const SealedTile& tile, Row& out) {
  for (const auto* codes : {&tile.key_codes, &tile.value_codes})
    for (const std::byte code : *codes) out.push_back(static_cast<float>(code));
  for (const auto* scales : {&tile.key_scales, &tile.value_scales})
    out.insert(out.end(), scales->begin(), scales->end());
  out.insert(out.end(), tile.key_zeros.begin(), tile.key_zeros.end());
}

TEST_P(Variants, SealTiles) {
  for (const int head_dim : {32, 64, 96}) {
    SCOPED_TRACE(head_dim);
    Compare([&](const Ops& ops, Source& source) {
      Row results;
      for (int time = 0; time < 40; ++time) {
        SealedTile tile(head_dim);
        Halves halves;
        const int exponent = static_cast<int>(source.Bits() % 40) - 30;
        const auto any = source.Bits() % 4 == 0;  // bits
        for (int i = 0; i < kTileKeys * head_dim; ++i)
          halves.push_back(any ? static_cast<std::uint16_t>(source.Bits() >> 11)
                               : FloatToHalf(std::ldexp(source.Next(), exponent)));
        ops.kv_int4.seal_keys(halves.data(), head_dim, tile.Keys());
        ops.kv_int4.seal_values(halves.data(), head_dim, tile.Values());
        Append(tile, results);
      }
      return results;
    });
  }
}

// Numbers that are equal, one apart or of two signs, so that scales and codes meet their ends.
TEST_P(Variants, SealFewNumbers) {
  Compare([&](const Ops& ops, Source& source) {
    Row results;
    for (int time = 0; time < 2000; ++time) {
      SealedTile tile(kDims);
      const auto one = static_cast<std::uint16_t>(source.Bits() >> 13);
      const std::uint16_t numbers[] = {one, static_cast<std::uint16_t>(one + 1),
                                       static_cast<std::uint16_t>(one ^ 0x8000), 0, 0x8000};
      const std::uint32_t kinds = source.Bits() % 5 + 1;
      Halves halves;
      for (int i = 0; i < kTileKeys * kDims; ++i) halves.push_back(numbers[source.Bits() % kinds]);
      ops.kv_int4.seal_keys(halves.data(), kDims, tile.Keys());
      ops.kv_int4.seal_values(halves.data(), kDims, tile.Values());
      Append(tile, results);
    }
    return results;
  });
}

TEST_P(Variants, AttendSealedTiles) {
  for (const int head_dim : {32, 64, 96}) {
    for (const int last : {1, 9, 16, 33, 64}) {
      for (const int queries : {1, 2, 3, 4, 5, 6, 13}) {
        SCOPED_TRACE(std::to_string(queries) + " queries, " + std::to_string(last) + " keys of " +
                     std::to_string(head_dim));
        for (const int first : {0, last / 3, last - 1}) {
          for (const bool same : {true, false}) {
            Compare([&](const Ops& ops, Source& source) {
              SealedChunk chunk(head_dim, source);
              return Attended(
                  ops, ops.kv_int4.attend,
                  [&](const auto& is_seen) { return chunk.Tiles(is_seen); }, {first, last, same},
                  head_dim, queries, source);
            });
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace banyan::kernels::testing
