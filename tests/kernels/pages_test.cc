// The page store: what is written where, and copies of first slots.

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/kept.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

using Page = std::vector<std::byte>;

struct Kind {
  int page_size;  // keys lie slot by slot in pages of 4, and in tiles of 16 slots in pages of 32
  KvFormat format;
};
std::string NameOf(const ::testing::TestParamInfo<Kind>& kind) {
  return std::string(LayoutOf(kind.param.format).name) + "_" + std::to_string(kind.param.page_size);
}
const auto kKinds = ::testing::ValuesIn([] {
  std::vector<Kind> all;
  for (const KvFormat format : kHeadFormats)
    for (const int page_size : {4, 32}) all.push_back({page_size, format});
  return all;
}());

enum class What { kKey, kValue };

class Pages : public ::testing::TestWithParam<Kind> {
 protected:
  Pages() { EXPECT_TRUE(rig_.backend->AllocatePages(shape_)); }

  Page Read(int page) const {
    Page bytes(rig_.backend->page_bytes());
    rig_.backend->ReadPage(page, bytes);
    return bytes;
  }
  void Write(int page, const Page& bytes) { rig_.backend->WritePage(page, bytes); }
  Page Random(std::uint32_t seed) const {
    std::mt19937 random(seed);
    Page page(rig_.backend->page_bytes());
    for (std::byte& byte : page) byte = static_cast<std::byte>(random() >> 7);
    return page;
  }

  // Where dimension d of a slot's key or value is, in bytes, and where the scale is.
  std::size_t NumberAt(What what, int layer, int head, int slot, int d) const {
    const int w = what == What::kKey && shape_.page_size % 16 == 0 ? 16 : 1;
    const int plane = head + (what == What::kKey ? 0 : shape_.kv_heads);
    const int in_plane =
        w == 16 ? (slot / w * shape_.head_dim + d) * w + slot % w : slot * shape_.head_dim + d;
    return LayerAt(layer) +
           static_cast<std::size_t>((plane * shape_.page_size * shape_.head_dim + in_plane) *
                                    layout_.bytes);
  }
  std::size_t ScaleAt(What what, int layer, int head, int slot) const {
    const int numbers = 2 * shape_.kv_heads * shape_.page_size * shape_.head_dim;
    const int plane = 2 * head + (what == What::kKey ? 0 : 1);
    return LayerAt(layer) +
           static_cast<std::size_t>(numbers * layout_.bytes +
                                    (plane * shape_.page_size + slot) * layout_.scale_bytes);
  }
  float NumberIn(const Page& page, What what, int layer, int head, int slot, int d) const {
    const float number = Decoded(shape_.format, page.data() + NumberAt(what, layer, head, slot, d));
    if (layout_.scale_bytes == 0) return number;
    std::uint16_t scale = 0;
    std::memcpy(&scale, page.data() + ScaleAt(what, layer, head, slot), sizeof scale);
    return number * HalfValue(scale);
  }

  // All numbers of a page, by layer, head, slot and dimension: of a key and its value in turn.
  Row NumbersIn(const Page& page) const {
    Row out;
    for (int layer = 0; layer < shape_.layers; ++layer)
      for (int head = 0; head < shape_.kv_heads; ++head)
        for (int slot = 0; slot < shape_.page_size; ++slot)
          for (int d = 0; d < shape_.head_dim; ++d)
            for (const What what : {What::kKey, What::kValue})
              out.push_back(NumberIn(page, what, layer, head, slot, d));
    return out;
  }
  std::size_t Index(int layer, int head, int slot, int d) const {
    return static_cast<std::size_t>(
        (((layer * shape_.kv_heads + head) * shape_.page_size + slot) * shape_.head_dim + d) * 2);
  }

  const KvShape shape_{.layers = 3,
                       .kv_heads = 2,
                       .head_dim = 72,
                       .page_size = GetParam().page_size,
                       .pages = 5,
                       .format = GetParam().format};
  const KvLayout layout_ = LayoutOf(GetParam().format);
  Rig rig_;

 private:
  std::size_t LayerAt(int layer) const {
    return static_cast<std::size_t>(layer) * rig_.backend->page_bytes() /
           static_cast<std::size_t>(shape_.layers);
  }
};
INSTANTIATE_TEST_SUITE_P(Kinds, Pages, kKinds, NameOf);

TEST_P(Pages, HoldExactlyTheBytesOfTheirTokens) {
  const int token = layout_.bytes * 3 * 2 * 2 * 72 + layout_.scale_bytes * 3 * 2 * 2;
  EXPECT_EQ(rig_.backend->page_bytes(), static_cast<std::size_t>(token * shape_.page_size));
  EXPECT_EQ(BytesPerToken(shape_), token);
}

TEST_P(Pages, StartAsZeroesAndKeepWhatIsWritten) {
  EXPECT_THAT(Read(4), ::testing::Each(std::byte{0}));
  Write(1, Random(1));
  Write(4, Random(2));
  EXPECT_EQ(Read(1), Random(1));
  EXPECT_EQ(Read(4), Random(2));
  EXPECT_THAT(Read(0), ::testing::Each(std::byte{0}));
  EXPECT_THAT(Read(2), ::testing::Each(std::byte{0}));
}

TEST_P(Pages, StoringPutsNumbersInTheTokensSlotOfTheLayer) {
  const int size = shape_.page_size;
  const int dims = shape_.head_dim;
  const Rows k = RandomRows(3, 2 * dims, 1);
  const Rows v = RandomRows(3, 2 * dims, 2);
  CpuBackend::Activations q_rows = rig_.Load(RandomRows(3, 2 * dims, 3));
  CpuBackend::Activations k_rows = rig_.Load(k);
  const CpuBackend::Activations v_rows = rig_.Load(v);
  const std::array<std::int32_t, 2> table = {3, 1};
  const RowRun run[] = {{0, 3, size - 1, table}};  // last slot of page 3, slots 0 and 1 of page 1
  rig_.backend->RopeAndStore(q_rows, k_rows, v_rows, Rope{}, run, 2);
  const Row nothing = NumbersIn(Read(0));
  std::array<Row, 2> expected = {nothing, nothing};
  for (int r = 0; r < 3; ++r) {
    for (int head = 0; head < 2; ++head) {
      const auto of_head = [&](const Rows& rows) {
        return std::span(rows[r]).subspan(head * dims, dims);
      };
      const Row key = Kept(shape_.format, InKeyBasis(shape_.format, of_head(k)));
      const Row value = Kept(shape_.format, of_head(v));
      for (int d = 0; d < dims; ++d) {
        const std::size_t at = Index(2, head, (size - 1 + r) % size, d);
        expected[r == 0 ? 0 : 1][at] = key[d];
        expected[r == 0 ? 0 : 1][at + 1] = value[d];
      }
    }
  }
  EXPECT_EQ(NumbersIn(Read(3)), expected[0]);
  EXPECT_EQ(NumbersIn(Read(1)), expected[1]);
  EXPECT_THAT(Read(0), ::testing::Each(std::byte{0}));
}

TEST_P(Pages, CopiesTakeTheFirstSlotsOfEveryLayerAndHead) {
  for (int slots = 0; slots <= shape_.page_size; ++slots) {
    const Page from = Random(3);
    Page expected = Random(4);
    Write(0, from);
    Write(2, expected);
    const SlotCopy copy[] = {{0, 2, slots}};
    rig_.backend->CopySlots(copy);
    for (int layer = 0; layer < shape_.layers; ++layer)
      for (int head = 0; head < shape_.kv_heads; ++head)
        for (int slot = 0; slot < slots; ++slot)
          for (const What what : {What::kKey, What::kValue}) {
            for (int d = 0; d < shape_.head_dim; ++d) {
              const std::size_t at = NumberAt(what, layer, head, slot, d);
              std::copy_n(from.begin() + at, layout_.bytes, expected.begin() + at);
            }
            const std::size_t at = ScaleAt(what, layer, head, slot);
            std::copy_n(from.begin() + at, layout_.scale_bytes, expected.begin() + at);
          }
    EXPECT_EQ(Read(2), expected) << slots;
    EXPECT_EQ(Read(0), from) << slots;
  }
}

TEST_P(Pages, CopiesAreMadeInOrder) {
  Write(0, Random(5));
  const int size = shape_.page_size;
  const SlotCopy copies[] = {{0, 1, size}, {1, 2, size}, {2, 2, size}};
  rig_.backend->CopySlots(copies);
  EXPECT_EQ(Read(2), Random(5));
}

TEST(PageMemoryDeathTest, HeadsHaveABound) {
  const auto allocate = [](int head_dim) {
    Rig rig;
    return rig.backend->AllocatePages({1, 1, head_dim, 16, 1});
  };
  EXPECT_TRUE(allocate(KvShape::kMaxHeadDim - 8));
  EXPECT_TRUE(allocate(KvShape::kMaxHeadDim));
  EXPECT_DEATH(allocate(KvShape::kMaxHeadDim + 8), "up to kMaxHeadDim");
}

TEST(PageMemory, IsRefusedWhenItCannotBeHad) {
  Rig rig;
  EXPECT_FALSE(rig.backend->AllocatePages({1 << 10, 1 << 10, 1 << 10, 256, 1 << 26}));
}

using PagesDeathTest = Pages;
INSTANTIATE_TEST_SUITE_P(Kinds, PagesDeathTest, kKinds, NameOf);

TEST_P(PagesDeathTest, PagesAndSlotsAreChecked) {
  const SlotCopy past[] = {{0, 5, 1}};
  const SlotCopy negative[] = {{-1, 0, 1}};
  const SlotCopy many[] = {{0, 1, shape_.page_size + 1}};
  EXPECT_DEATH(rig_.backend->CopySlots(past), "no such page");
  EXPECT_DEATH(rig_.backend->CopySlots(negative), "no such page");
  EXPECT_DEATH(rig_.backend->CopySlots(many), "more slots than a page");
  EXPECT_DEATH(Read(5), "no such page");
}

}  // namespace
}  // namespace banyan::kernels::testing
