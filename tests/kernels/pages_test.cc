// The page store: what is written where, and copies of first slots.

#include <array>
#include <cstring>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

constexpr KvShape kShape{.layers = 3, .kv_heads = 2, .head_dim = 8, .page_size = 4, .pages = 5};

using Page = std::vector<std::uint16_t>;

std::size_t At(int layer, int kind, int head, int slot) {
  return static_cast<std::size_t>(
      (((layer * 2 + kind) * kShape.kv_heads + head) * kShape.page_size + slot) * kShape.head_dim);
}

class Pages : public ::testing::Test {
 protected:
  Pages() { EXPECT_TRUE(rig_.backend->AllocatePages(kShape)); }

  Page Read(int page) const {
    Page halves(rig_.backend->page_bytes() / 2);
    rig_.backend->ReadPage(page, std::as_writable_bytes(std::span(halves)));
    return halves;
  }
  void Write(int page, const Page& halves) {
    rig_.backend->WritePage(page, std::as_bytes(std::span(halves)));
  }
  Page Numbered(std::uint16_t from) const {
    Page page(rig_.backend->page_bytes() / 2);
    std::iota(page.begin(), page.end(), from);
    return page;
  }

  Rig rig_;
};

TEST_F(Pages, HoldTwoBytesPerValue) {
  EXPECT_EQ(rig_.backend->page_bytes(), 3U * 2 * 2 * 8 * 2 * 4);
  EXPECT_EQ(rig_.backend->page_bytes(), kShape.values_per_token() * 2 * kShape.page_size);
}

TEST_F(Pages, StartAsZeroesAndKeepWhatIsWritten) {
  EXPECT_THAT(Read(4), ::testing::Each(0));
  Write(1, Numbered(1000));
  Write(4, Numbered(5000));
  EXPECT_EQ(Read(1), Numbered(1000));
  EXPECT_EQ(Read(4), Numbered(5000));
  EXPECT_THAT(Read(0), ::testing::Each(0));
  EXPECT_THAT(Read(2), ::testing::Each(0));
}

TEST_F(Pages, StoringPutsHalvesInTheTokensSlotOfTheLayer) {
  const Rows k = RandomRows(3, 16, 1);
  const Rows v = RandomRows(3, 16, 2);
  CpuBackend::Activations q_rows = rig_.Load(RandomRows(3, 16, 3));
  CpuBackend::Activations k_rows = rig_.Load(k);
  const CpuBackend::Activations v_rows = rig_.Load(v);
  const std::array<std::int32_t, 2> table = {3, 1};
  const RowRun run[] = {{0, 3, 3, table}};  // slot 3 of page 3, slots 0 and 1 of page 1
  rig_.backend->RopeAndStore(q_rows, k_rows, v_rows, Rope{}, run, 2);
  std::array<Page, 2> expected = {Page(Read(0).size()), Page(Read(0).size())};
  for (int r = 0; r < 3; ++r) {
    for (int i = 0; i < 16; ++i) {
      Page& page = expected[(3 + r) / 4];
      page[At(2, 0, i / 8, (3 + r) % 4) + i % 8] = FloatToHalf(k[r][i]);
      page[At(2, 1, i / 8, (3 + r) % 4) + i % 8] = FloatToHalf(v[r][i]);
    }
  }
  EXPECT_EQ(Read(3), expected[0]);
  EXPECT_EQ(Read(1), expected[1]);
}

TEST_F(Pages, CopiesTakeTheFirstSlotsOfEveryLayerAndHead) {
  for (int slots = 0; slots <= kShape.page_size; ++slots) {
    Write(0, Numbered(1000));
    Write(2, Numbered(9000));
    const SlotCopy copy[] = {{0, 2, slots}};
    rig_.backend->CopySlots(copy);
    Page expected = Numbered(9000);
    for (int plane = 0; plane < kShape.layers * 2 * kShape.kv_heads; ++plane)
      for (int i = 0; i < slots * kShape.head_dim; ++i)
        expected[plane * kShape.page_size * kShape.head_dim + i] =
            Numbered(1000)[plane * kShape.page_size * kShape.head_dim + i];
    EXPECT_EQ(Read(2), expected) << slots;
    EXPECT_EQ(Read(0), Numbered(1000)) << slots;
  }
}

TEST_F(Pages, CopiesAreMadeInOrder) {
  Write(0, Numbered(1000));
  const SlotCopy copies[] = {{0, 1, 4}, {1, 2, 4}, {2, 2, 4}};
  rig_.backend->CopySlots(copies);
  EXPECT_EQ(Read(2), Numbered(1000));
}

TEST(PageMemory, IsRefusedWhenItCannotBeHad) {
  Rig rig;
  EXPECT_FALSE(rig.backend->AllocatePages({1 << 10, 1 << 10, 1 << 10, 256, 1 << 26}));
}

using PagesDeathTest = Pages;

TEST_F(PagesDeathTest, PagesAndSlotsAreChecked) {
  const SlotCopy past[] = {{0, 5, 1}};
  const SlotCopy negative[] = {{-1, 0, 1}};
  const SlotCopy many[] = {{0, 1, 5}};
  EXPECT_DEATH(rig_.backend->CopySlots(past), "no such page");
  EXPECT_DEATH(rig_.backend->CopySlots(negative), "no such page");
  EXPECT_DEATH(rig_.backend->CopySlots(many), "more slots than a page");
  EXPECT_DEATH(Read(5), "no such page");
}

}  // namespace
}  // namespace banyan::kernels::testing
