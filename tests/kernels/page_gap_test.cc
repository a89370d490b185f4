// Sequences under a window whose pages are dropped while they grow: each row is stored and attended
// through a table with a gap, to the bits that it has where all pages are kept.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/kernels/rig.h"

namespace banyan::kernels::testing {
namespace {

constexpr int kHeads = 4;
constexpr int kKvHeads = 2;
constexpr int kHeadDim = 16;
constexpr int kCount = 300;  // tokens of a sequence

struct Kind {
  int page_size;
  KvFormat format;
};

// One sequence on pages of its own.
class Growing {
 public:
  Growing(const Kind& kind, int threads, const KeyWindow& window)
      : page_size_(kind.page_size), window_(window), rig_(threads) {
    rig_.KeepFloats();
    const int pages = (kCount + page_size_ - 1) / page_size_;
    EXPECT_TRUE(
        rig_.backend->AllocatePages({1, kKvHeads, kHeadDim, page_size_, pages, kind.format}));
    pages_.resize(static_cast<std::size_t>(pages));
    std::iota(pages_.rbegin(), pages_.rend(), 0);
  }

  // Positions next() .. next() + count - 1.
  Rows Step(int count) {
    const auto slice = [&](const Rows& rows) {
      return Rows(rows.begin() + next_, rows.begin() + next_ + count);
    };
    CpuBackend::Activations q = rig_.Load(slice(q_));
    CpuBackend::Activations k = rig_.Load(slice(k_));
    const CpuBackend::Activations v = rig_.Load(slice(v_));
    const Rope rope{.dims = kHeadDim};
    const RowRun run[] = {{0, count, next_, pages_, window_, front_, dropped_}};
    rig_.backend->RopeAndStore(q, k, v, rope, run, 0);
    CpuBackend::Input out = rig_.backend->MakeInput(count, q.cols());
    rig_.backend->Attend(q, {.scale = 0.25F, .rope = &rope}, run, 0, out);
    next_ += count;
    return rig_.Floats(out, count);
  }

  // All pages that the next row sees no key of, which become NaN, leave the table.
  void Drop() {
    if (!window_.cuts(next_)) return;
    front_ = (window_.sinks + page_size_ - 1) / page_size_;
    const std::int64_t behind = window_.first_key(next_) / page_size_;
    const std::vector<std::byte> poison(rig_.backend->page_bytes(), std::byte{0xFF});
    for (; front_ + dropped_ < behind; ++dropped_) {
      rig_.backend->WritePage(pages_[static_cast<std::size_t>(front_)], poison);
      pages_.erase(pages_.begin() + front_);
    }
  }

  int next() const { return next_; }
  std::int64_t dropped() const { return dropped_; }

 private:
  const int page_size_;
  const KeyWindow window_;
  Rig rig_;
  const Rows q_ = RandomRows(kCount, kHeads* kHeadDim, 1);
  const Rows k_ = RandomRows(kCount, kKvHeads* kHeadDim, 2);
  const Rows v_ = RandomRows(kCount, kKvHeads* kHeadDim, 3);
  std::vector<std::int32_t> pages_;
  std::int64_t front_ = 0;
  std::int64_t dropped_ = 0;
  int next_ = 0;
};

class PageGaps : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, PageGaps,
                         ::testing::Values(Kind{1, KvFormat::kF16}, Kind{5, KvFormat::kF16},
                                           Kind{16, KvFormat::kF16}, Kind{64, KvFormat::kF16},
                                           Kind{5, KvFormat::kInt8}, Kind{16, KvFormat::kInt8},
                                           Kind{16, KvFormat::kFp8}, Kind{16, KvFormat::kBf16}),
                         [](const auto& test) {
                           return std::string(LayoutOf(test.param.format).name) + "_" +
                                  std::to_string(test.param.page_size);
                         });

TEST_P(PageGaps, HaveTheBitsOfKeepingAll) {
  for (const KeyWindow& window : {KeyWindow{1, 0}, KeyWindow{50, 1}, KeyWindow{64, 4},
                                  KeyWindow{37, 16}, KeyWindow{100, 64}}) {
    const Rows whole = Growing(GetParam(), 1, window).Step(kCount);
    for (const int step : {1, 7, 50}) {
      Growing growing(GetParam(), 1 + step % 3, window);
      // Single tokens are the slow case: where windows begin to cut, and some chunks further.
      if (step == 1) growing.Step(std::max(1, static_cast<int>(window.capacity()) - 1));
      while (growing.next() < (step == 1 ? std::min(kCount, 240) : kCount)) {
        const int first = growing.next();
        const int count = std::min(step, kCount - first);
        ASSERT_EQ(growing.Step(count), Rows(whole.begin() + first, whole.begin() + first + count))
            << "window " << window.window << ", sinks " << window.sinks << ", step " << step
            << ", first " << first;
        growing.Drop();
      }
      EXPECT_GT(growing.dropped(), 0);
    }
  }
}

// Runs of one row on pages of 16, of which there are eight.
void Attend(const RowRun& run, std::int64_t layer_window = 0, bool roped = true) {
  Rig rig;
  if (!rig.backend->AllocatePages({1, 1, 8, 16, 8})) return;
  const CpuBackend::Activations q = rig.Load(RandomRows(1, 8, 1));
  CpuBackend::Input out = rig.backend->MakeInput(1, 8);
  const Rope rope{.dims = 8};
  rig.backend->Attend(q, {.window = layer_window, .rope = roped ? &rope : nullptr}, {&run, 1}, 0,
                      out);
}

TEST(PageGapsDeathTest, GapsHoldNothingThatIsSeen) {
  const std::vector<std::int32_t> pages = {0, 1, 2, 3};
  const KeyWindow window = {.window = 32, .sinks = 4};
  // Position 96 sees keys 65 and on: page 4.
  Attend({0, 1, 96, pages, window, 1, 3});
  EXPECT_DEATH(Attend({0, 1, 96, pages, window, 1, 4}), "no row sees a key in the gap");
  EXPECT_DEATH(Attend({0, 1, 96, pages, window, 0, 3}), "no row sees a key in the gap");
  EXPECT_DEATH(Attend({0, 1, 96, pages, window, 1, -1}), "a gap is of pages");
  EXPECT_DEATH(Attend({0, 1, 96, pages, window, -1, 3}), "a gap is of pages");
  EXPECT_DEATH(Attend({0, 1, 96, pages, {}, 1, 3}), "no row sees a key in the gap");
  EXPECT_DEATH(Attend({0, 1, 112, pages, window, 1, 3}), "covers its rows");
  const KeyWindow no_sinks = {.window = 16, .sinks = 0};
  Attend({0, 1, 31, pages, no_sinks, 0, 1});
  EXPECT_DEATH(Attend({0, 1, 30, pages, no_sinks, 0, 1}), "no row sees a key in the gap");
}

TEST(PageGapsDeathTest, WindowsAreChecked) {
  const std::vector<std::int32_t> pages = {0, 1};
  EXPECT_DEATH(Attend({0, 1, 20, pages, {.window = -1}}), "a window has keys");
  EXPECT_DEATH(Attend({0, 1, 20, pages, {.window = 0, .sinks = 1}}), "a window has keys");
  EXPECT_DEATH(Attend({0, 1, 20, pages, {.window = 4, .sinks = -1}}), "a window has keys");
  EXPECT_DEATH(Attend({0, 1, 20, pages, {.window = 4, .sinks = KeyWindow::kMaxSinks + 1}}),
               "up to kMaxSinks");
  EXPECT_DEATH(Attend({0, 1, 20, pages, {.window = 4}}, 8), "layer or run has a window");
  // Only sinks need to know how queries are roped.
  Attend({0, 1, 20, pages, {.window = 4}}, 0, false);
  Attend({0, 1, 7, pages, {.window = 4, .sinks = 4}}, 0, false);
  EXPECT_DEATH(Attend({0, 1, 8, pages, {.window = 4, .sinks = 4}}, 0, false), "knows the rope");
}

}  // namespace
}  // namespace banyan::kernels::testing
