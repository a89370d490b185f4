// Where pages keep what, and the copies of their beginnings.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cuda/rig.h"

namespace banyan::kernels::cuda::testing {
namespace {

TEST(Pages, TakeWhatTheShapeSaysAndAtMostFifteenBytesMoreForALayer) {
  for (const KvFormat format : kPageFormats) {
    for (const std::int32_t page_size : {1, 3, 16}) {
      const KvShape shape{3, 1, 8, page_size, 1, format};
      const PageView view = ViewPages(shape, nullptr);
      const std::int64_t least = BytesPerToken(shape) * page_size;
      EXPECT_GE(view.page_bytes, least);
      EXPECT_LE(view.page_bytes, least + 3 * 15);
      EXPECT_EQ(view.layer_bytes % PageView::kAlignment, 0);
    }
  }
}

// What each byte of a page belongs to: its slot, or -1 where it is padding.
std::vector<std::int32_t> SlotsOfBytes(const PageView& view) {
  std::vector<std::int32_t> slots(static_cast<std::size_t>(view.page_bytes), -1);
  const auto mark = [&](std::int64_t at, std::int32_t bytes, std::int32_t slot) {
    for (std::int32_t i = 0; i < bytes; ++i) {
      EXPECT_EQ(slots[at + i], -1) << "byte " << at + i << " is two slots'";
      slots[at + i] = slot;
    }
  };
  for (std::int32_t layer = 0; layer < view.layers; ++layer) {
    for (std::int32_t head = 0; head < view.kv_heads; ++head) {
      for (std::int32_t slot = 0; slot < view.page_size; ++slot) {
        const std::int64_t key = view.KeyAt(0, layer, head, slot);
        mark(key, view.slot_bytes, slot);
        mark(key + view.values_after(), view.slot_bytes, slot);
        const std::int64_t scale = view.ScaleAt(0, layer, head, slot);
        mark(scale, view.scale_bytes, slot);
        mark(scale + view.page_size * view.scale_bytes, view.scale_bytes, slot);
      }
    }
  }
  return slots;
}

TEST(Pages, EveryByteIsOneSlotsOrPadding) {
  for (const KvFormat format : kPageFormats)
    for (const std::int32_t page_size : {1, 3, 16})
      SlotsOfBytes(ViewPages({2, 3, 8, page_size, 1, format}, nullptr));
}

TEST(Pages, CopySlotsCopiesTheFirstSlotsOfEveryLayerAndNothingElse) {
  for (const KvFormat format : kPageFormats) {
    for (const std::int32_t slots : {0, 1, 4, 5}) {
      const Heads h{1, 3, 24, 5, format};
      Pages pages(h, 2, 3);
      const PageView& view = pages.view();
      std::vector<std::byte> before(static_cast<std::size_t>(3 * view.page_bytes));
      for (std::size_t i = 0; i < before.size(); ++i) before[i] = static_cast<std::byte>(i * 31);
      CopyToDevice(view.memory, before.data(), before.size(), nullptr);
      const DeviceArray<SlotCopy> copies(std::vector<SlotCopy>{{2, 0, slots}});
      CopySlots(nullptr, copies.data(), 1, view);
      const std::vector<std::byte> after = pages.Read();
      const std::vector<std::int32_t> slot_of = SlotsOfBytes(view);
      for (std::int64_t i = 0; i < 3 * view.page_bytes; ++i) {
        const bool copied = i < view.page_bytes && slot_of[i] >= 0 && slot_of[i] < slots;
        ASSERT_EQ(after[i], before[copied ? i + 2 * view.page_bytes : i]) << "byte " << i;
      }
    }
  }
}

TEST(PagesDeathTest, AreNotSealed) {
  EXPECT_DEATH(ViewPages({1, 1, 32, 16, 1, KvFormat::kInt4}, nullptr), "kPageFormats");
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
