// Pages sealed in 4 bits: every tile has a place of its own.

#include "kernels/cpu/sealed_pages.h"

#include <cstring>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/cpu/variants.h"
#include "tests/kernels/rig.h"
#include "tests/kernels/sealed.h"

namespace banyan::kernels::testing {
namespace {

constexpr KvShape kShape = {.layers = 3,
                            .kv_heads = 2,
                            .head_dim = 96,
                            .page_size = 32,
                            .pages = 3,
                            .format = KvFormat::kInt4};

std::vector<SealedPages::Place> AllPlaces() {
  std::vector<SealedPages::Place> all;
  for (int page = 0; page < kShape.pages; ++page)
    for (int layer = 0; layer < kShape.layers; ++layer)
      for (int head = 0; head < kShape.kv_heads; ++head)
        for (int tile = 0; tile < kShape.page_size / kTileKeys; ++tile)
          all.push_back({page, layer, head, tile});
  return all;
}

// A tile's keys, then its values.
std::vector<std::uint16_t> RandomTile(std::uint32_t seed) {
  std::vector<std::uint16_t> out;
  const Rows rows = RandomRows(1, 2 * kTileKeys * kShape.head_dim, seed);
  for (const float x : rows[0]) out.push_back(FloatToHalf(x));
  return out;
}

template <class T, class U>
bool Same(const std::vector<T>& expected, const U* at) {
  return std::memcmp(expected.data(), at, expected.size() * sizeof(T)) == 0;
}

TEST(SealedPages, EveryTileHasItsPlace) {
  const Ops& ops = *FindCpuVariant()->ops;
  SealedPages pages;
  ASSERT_TRUE(pages.Allocate(kShape));
  const auto places = AllPlaces();
  constexpr std::int64_t kValues = std::int64_t{kTileKeys} * kShape.head_dim;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto tile = RandomTile(static_cast<std::uint32_t>(i));
    pages.Seal(ops, places[i], tile.data(), tile.data() + kValues);
  }
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto tile = RandomTile(static_cast<std::uint32_t>(i));
    SealedTile expected(kShape.head_dim);
    ops.kv_int4.seal_keys(tile.data(), kShape.head_dim, expected.Keys());
    ops.kv_int4.seal_values(tile.data() + kValues, kShape.head_dim, expected.Values());
    const int t = static_cast<int>(i % 4);
    ChunkTiles found = {};
    pages.Find(places[i], t, found);
    EXPECT_TRUE(Same(expected.key_codes, found.keys[t])) << i;
    EXPECT_TRUE(Same(expected.value_codes, found.values[t])) << i;
    EXPECT_TRUE(Same(expected.key_scales, found.key_scales[t])) << i;
    EXPECT_TRUE(Same(expected.value_scales, found.value_scales[t])) << i;
    EXPECT_TRUE(Same(expected.key_zeros, found.key_zeros[t])) << i;
  }
}

TEST(SealedPages, APageTakesWhatItsTokensTake) {
  SealedPages pages;
  ASSERT_TRUE(pages.Allocate(kShape));
  EXPECT_EQ(pages.page_bytes(), 32U * 3 * 2 * (96 + 18 + 6));
  EXPECT_EQ(pages.page_bytes(), static_cast<std::size_t>(BytesPerToken(kShape) * 32));
  EXPECT_EQ(pages.Page(1).data(), pages.Page(0).data() + pages.page_bytes());
}

TEST(SealedPages, ArePagesOfWholeTilesAndGroups) {
  const auto allocate = [](const auto& change) {
    KvShape shape = kShape;
    change(shape);
    SealedPages pages;
    pages.Allocate(shape);
  };
  EXPECT_DEATH(allocate([](KvShape& s) { s.page_size = 24; }), "whole tiles");
  EXPECT_DEATH(allocate([](KvShape& s) { s.head_dim = 80; }), "multiple of 32");
  EXPECT_DEATH(allocate([](KvShape& s) { s.format = KvFormat::kInt8; }), "int4");
}

}  // namespace
}  // namespace banyan::kernels::testing
