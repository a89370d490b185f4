// The page store: what is written where, and copies of first slots.

#include <array>
#include <cstring>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

using Page = std::vector<std::uint16_t>;

// (page size): keys lie slot by slot in pages of 4, and in tiles of 16 slots in pages of 32.
class Pages : public ::testing::TestWithParam<int> {
 protected:
  Pages() { EXPECT_TRUE(rig_.backend->AllocatePages(shape_)); }

  Page Read(int page) const {
    Page halves(rig_.backend->page_bytes() / 2);
    rig_.backend->ReadPage(page, std::as_writable_bytes(std::span(halves)));
    return halves;
  }
  void Write(int page, const Page& halves) {
    rig_.backend->WritePage(page, std::as_bytes(std::span(halves)));
  }
  Page Numbered(int from) const {
    Page page(rig_.backend->page_bytes() / 2);
    std::iota(page.begin(), page.end(), static_cast<std::uint16_t>(from));
    return page;
  }

  // Where dimension d of a slot's key or value is.
  std::size_t KeyAt(int layer, int head, int slot, int d) const {
    const int w = shape_.page_size % 16 == 0 ? 16 : 1;
    return Plane(layer, 0, head) + (slot / w * shape_.head_dim + d) * w + slot % w;
  }
  std::size_t ValueAt(int layer, int head, int slot, int d) const {
    return Plane(layer, 1, head) + slot * shape_.head_dim + d;
  }

  const KvShape shape_{
      .layers = 3, .kv_heads = 2, .head_dim = 72, .page_size = GetParam(), .pages = 5};
  Rig rig_;

 private:
  std::size_t Plane(int layer, int kind, int head) const {
    return static_cast<std::size_t>(((layer * 2 + kind) * shape_.kv_heads + head) *
                                    shape_.page_size * shape_.head_dim);
  }
};
INSTANTIATE_TEST_SUITE_P(Sizes, Pages, ::testing::Values(4, 32));

TEST_P(Pages, HoldTwoBytesPerValue) {
  EXPECT_EQ(rig_.backend->page_bytes(), 3U * 2 * 2 * 72 * 2 * GetParam());
  EXPECT_EQ(rig_.backend->page_bytes(), shape_.values_per_token() * 2 * shape_.page_size);
}

TEST_P(Pages, StartAsZeroesAndKeepWhatIsWritten) {
  EXPECT_THAT(Read(4), ::testing::Each(0));
  Write(1, Numbered(1000));
  Write(4, Numbered(5000));
  EXPECT_EQ(Read(1), Numbered(1000));
  EXPECT_EQ(Read(4), Numbered(5000));
  EXPECT_THAT(Read(0), ::testing::Each(0));
  EXPECT_THAT(Read(2), ::testing::Each(0));
}

TEST_P(Pages, StoringPutsHalvesInTheTokensSlotOfTheLayer) {
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
  std::array<Page, 2> expected = {Page(Read(0).size()), Page(Read(0).size())};
  for (int r = 0; r < 3; ++r) {
    for (int i = 0; i < 2 * dims; ++i) {
      Page& page = expected[r == 0 ? 0 : 1];
      page[KeyAt(2, i / dims, (size - 1 + r) % size, i % dims)] = FloatToHalf(k[r][i]);
      page[ValueAt(2, i / dims, (size - 1 + r) % size, i % dims)] = FloatToHalf(v[r][i]);
    }
  }
  EXPECT_EQ(Read(3), expected[0]);
  EXPECT_EQ(Read(1), expected[1]);
}

TEST_P(Pages, CopiesTakeTheFirstSlotsOfEveryLayerAndHead) {
  for (int slots = 0; slots <= shape_.page_size; ++slots) {
    Write(0, Numbered(1000));
    Write(2, Numbered(30000));
    const SlotCopy copy[] = {{0, 2, slots}};
    rig_.backend->CopySlots(copy);
    const Page from = Numbered(1000);
    Page expected = Numbered(30000);
    for (int layer = 0; layer < shape_.layers; ++layer)
      for (int head = 0; head < shape_.kv_heads; ++head)
        for (int slot = 0; slot < slots; ++slot)
          for (int d = 0; d < shape_.head_dim; ++d)
            for (const std::size_t at :
                 {KeyAt(layer, head, slot, d), ValueAt(layer, head, slot, d)})
              expected[at] = from[at];
    EXPECT_EQ(Read(2), expected) << slots;
    EXPECT_EQ(Read(0), from) << slots;
  }
}

TEST_P(Pages, CopiesAreMadeInOrder) {
  Write(0, Numbered(1000));
  const int size = shape_.page_size;
  const SlotCopy copies[] = {{0, 1, size}, {1, 2, size}, {2, 2, size}};
  rig_.backend->CopySlots(copies);
  EXPECT_EQ(Read(2), Numbered(1000));
}

TEST(PageMemory, IsRefusedWhenItCannotBeHad) {
  Rig rig;
  EXPECT_FALSE(rig.backend->AllocatePages({1 << 10, 1 << 10, 1 << 10, 256, 1 << 26}));
}

using PagesDeathTest = Pages;
INSTANTIATE_TEST_SUITE_P(Sizes, PagesDeathTest, ::testing::Values(4, 32));

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
