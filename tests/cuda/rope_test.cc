// Rotary embedding, and what pages keep of keys and values.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cuda/rig.h"
#include "tests/kernels/kept.h"

namespace banyan::kernels::cuda::testing {
namespace {

struct Step {
  Row q;
  Row k;
  std::vector<std::byte> pages;
  PageView view;
};

// One row at every position, each in a page of its own, in the last slot of it.
Step Turn(const Heads& h, const std::vector<std::int32_t>& positions, std::int32_t dims,
          RopePairs pairs, const Row& q, const Row& k, const Row& v) {
  const auto rows = static_cast<std::int32_t>(positions.size());
  std::vector<TokenPlace> places;
  for (std::int32_t row = 0; row < rows; ++row) places.push_back({row, h.page_size - 1});
  const Pages pages(h, 2, rows);
  const DeviceArray<float> angles = AnglesOf({.dims = dims}, DeviceArray(positions));
  DeviceArray<float> device_q(q);
  DeviceArray<float> device_k(k);
  const DeviceArray<float> device_v(v);
  const DeviceArray<TokenPlace> device_places(places);
  RopeAndStore(nullptr,
               {device_q.data(), device_k.data(), device_v.data(), rows, h.heads, angles.data(),
                dims, pairs, device_places.data()},
               {pages.view()}, 1);
  return {device_q.Read(), device_k.Read(), pages.Read(), pages.view()};
}

// Number i of a head's key, or value, in a page.
float NumberAt(const Heads& h, const Step& step, std::int32_t page, std::int32_t kv_head,
               std::int32_t slot, std::int32_t i, bool value) {
  const KvLayout& layout = LayoutOf(h.format);
  const std::int64_t at = step.view.KeyAt(page, 1, kv_head, slot) +
                          (value ? step.view.values_after() : 0) + std::int64_t{i} * layout.bytes;
  const float number = kernels::testing::Decoded(h.format, step.pages.data() + at);
  if (layout.scale_bytes == 0) return number;
  std::uint16_t scale = 0;
  const std::int64_t scale_at =
      step.view.ScaleAt(page, 1, kv_head, slot) + (value ? 2 * h.page_size : 0);
  std::memcpy(&scale, step.pages.data() + scale_at, sizeof scale);
  return number * kernels::testing::HalfValue(scale);
}

TEST(Rope, TurnsPairsByTheAngleOfTheirPosition) {
  const std::vector<std::int32_t> positions = {0, 1, 77, 131071};
  for (const RopePairs pairs : {RopePairs::kNeighbours, RopePairs::kHalves}) {
    for (const std::int32_t dims : {64, 32, 2}) {
      const Heads h{3, 1, 64, 4, KvFormat::kF16};
      const Row q = RandomRows(1, 4 * 3 * 64, 1)[0];
      const Row k = RandomRows(1, 4 * 64, 2)[0];
      const Step step = Turn(h, positions, dims, pairs, q, k, k);
      const auto expect = [&](const Row& got, const Row& from, std::size_t at, int row) {
        const auto begin = from.begin() + static_cast<std::ptrdiff_t>(at);
        const auto turned =
            Turned(Row(begin, begin + 64), {.dims = dims, .pairs = pairs}, positions[row]);
        for (int i = 0; i < 64; ++i) EXPECT_NEAR(got[at + i], turned[i], 5e-7);
      };
      for (int row = 0; row < 4; ++row) {
        for (int head = 0; head < 3; ++head) expect(step.q, q, (row * 3 + head) * 64, row);
        expect(step.k, k, row * 64, row);
      }
    }
  }
}

TEST(Rope, PagesKeepKeysAsTurnedAndValuesAsTheyAre) {
  for (const KvFormat format : kPageFormats) {
    for (const std::int32_t head_dim : {8, 80}) {
      const Heads h{1, 2, head_dim, 3, format};
      const Row k = RandomRows(1, 2 * 2 * head_dim, 3)[0];
      const Row v = RandomRows(1, 2 * 2 * head_dim, 4)[0];
      const Step step = Turn(h, {5, 900}, 8, RopePairs::kHalves, Row(2 * head_dim, 1.0F), k, v);
      for (int row = 0; row < 2; ++row) {
        for (int head = 0; head < 2; ++head) {
          const std::size_t at = (row * 2 + head) * head_dim;
          const Row keys = kernels::testing::Kept(format, std::span(step.k).subspan(at, head_dim));
          const Row values = kernels::testing::Kept(format, std::span(v).subspan(at, head_dim));
          for (int i = 0; i < head_dim; ++i) {
            EXPECT_EQ(NumberAt(h, step, row, head, 2, i, false), keys[i]);
            EXPECT_EQ(NumberAt(h, step, row, head, 2, i, true), values[i]);
          }
        }
      }
    }
  }
}

TEST(Rope, NothingElseInAPageIsTouched) {
  for (const KvFormat format : kPageFormats) {
    const Heads h{1, 2, 16, 5, format};
    const Row k = RandomRows(1, 2 * 2 * 16, 5)[0];
    const Step step = Turn(h, {0, 1}, 0, RopePairs::kHalves, Row(32, 1.0F), k, k);
    const KvLayout& layout = LayoutOf(format);
    const std::int64_t most = 2 * 2 * 2 * (16 * layout.bytes + layout.scale_bytes);
    EXPECT_LE(std::ranges::count_if(step.pages, [](std::byte b) { return b != std::byte{0xff}; }),
              most);
    for (std::int32_t page = 0; page < 2; ++page)
      for (std::int64_t at = 0; at < step.view.layer_bytes; ++at)
        EXPECT_EQ(step.pages[page * step.view.page_bytes + at], std::byte{0xff}) << "of layer 0";
  }
}

}  // namespace
}  // namespace banyan::kernels::cuda::testing
