// What the CUDA backend keeps of keys and values, and sees of them through page tables with gaps,
// beside the CPU backend.

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/pages.h"
#include "tests/cuda/both_backends.h"

namespace banyan::kernels::testing {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

// Two full pages of five tokens in one layer, and the queries beside them. Pages that are not whole
// tiles have the same order of keys in both backends.
struct Stored {
  std::vector<std::byte> pages;
  Rows q;
};
template <class B>
Stored Store(B& backend, const KvShape& shape, const Rope& rope, const Rows& q, const Rows& k,
             const Rows& v) {
  EXPECT_TRUE(backend.AllocatePages(shape));
  auto device_q = Load(backend, q);
  auto device_k = Load(backend, k);
  const auto device_v = Load(backend, v);
  const std::int32_t pages[] = {1, 0};
  const RowRun run[] = {{.rows = 10, .first_position = 0, .pages = pages}};
  backend.RopeAndStore(device_q, device_k, device_v, rope, run, 0);
  Stored out{.pages = {}, .q = Read(backend, device_q)};
  const std::int64_t written = BytesPerToken(shape) * shape.page_size;
  for (const std::int32_t page : pages) {
    std::vector<std::byte> bytes(backend.page_bytes());
    backend.ReadPage(page, bytes);
    out.pages.insert(out.pages.end(), bytes.begin(), bytes.begin() + written);
  }
  return out;
}

TEST(BesideTheCpu, PagesAndQueriesHaveItsBits) {
  for (const KvFormat format : cuda::kPageFormats) {
    for (const std::int32_t head_dim : {8, 24, 64, 80, 96, 128, 256}) {
      for (const RopePairs pairs : {RopePairs::kNeighbours, RopePairs::kHalves}) {
        SCOPED_TRACE(std::string(LayoutOf(format).name) + ", heads of " + std::to_string(head_dim));
        const KvShape shape{1, 2, head_dim, 5, 2, format};
        const Rope rope{.dims = head_dim / 2, .base = 100.0F, .pairs = pairs};
        const Rows q = HalfRows(10, 4 * head_dim, 1);
        const Rows k = HalfRows(10, 2 * head_dim, 2);
        const Rows v = HalfRows(10, 2 * head_dim, 3);
        const Stored expected = Store(*MakeCpu(), shape, rope, q, k, v);
        const Stored got = Store(*MakeCuda(), shape, rope, q, k, v);
        EXPECT_EQ(got.pages, expected.pages);
        EXPECT_EQ(got.q, expected.q);
      }
    }
  }
}

TEST(BesideTheCpu, PagesOfWhatIsNotFiniteHaveItsBits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const KvFormat format : {KvFormat::kFp8, KvFormat::kInt8}) {
    const KvShape shape{1, 2, 24, 5, 2, format};
    const Rope rope{.dims = 8};
    const Rows q = HalfRows(10, 2 * 24, 1);
    Rows k = HalfRows(10, 2 * 24, 2);
    Rows v = HalfRows(10, 2 * 24, 3);
    k[2][5] = kInfinity;
    k[3][40] = std::numeric_limits<float>::quiet_NaN();
    v[7][30] = -kInfinity;
    v[8] = Row(2 * 24, 0.0F);
    const Stored expected = Store(*MakeCpu(), shape, rope, q, k, v);
    EXPECT_EQ(Store(*MakeCuda(), shape, rope, q, k, v).pages, expected.pages);
  }
}

// Pages of 32 tokens that a sequence's first 80 fill, in steps that end within pages and on
// borders.
template <class B>
std::vector<std::byte> Sealed(B& backend, std::int32_t head_dim, const Rows& k, const Rows& v) {
  const KvShape shape{2, 2, head_dim, 32, 3, KvFormat::kInt4, 2};
  EXPECT_TRUE(backend.AllocatePages(shape));
  const std::int32_t pages[] = {2, 0, 1};
  const Rope rope{.dims = head_dim, .base = 100.0F};
  int first = 0;
  for (const int end : {7, 50, 64, 65, 80}) {
    const auto slice = [&](const Rows& rows) {
      return Rows(rows.begin() + first, rows.begin() + end);
    };
    const RowRun run[] = {
        {.rows = end - first, .first_position = first, .pages = pages, .open_page = 1}};
    for (const std::int32_t layer : {0, 1}) {
      auto q = Load(backend, slice(k));
      auto device_k = Load(backend, slice(layer == 0 ? k : v));
      const auto device_v = Load(backend, slice(layer == 0 ? v : k));
      backend.RopeAndStore(q, device_k, device_v, rope, run, layer);
    }
    first = end;
  }
  std::vector<std::byte> out;
  for (const std::int32_t page : {2, 0}) {
    std::vector<std::byte> bytes(backend.page_bytes());
    backend.ReadPage(page, bytes);
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

TEST(BesideTheCpu, SealedPagesHaveItsBits) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const std::int32_t head_dim : {32, 64, 96, 256}) {
    Rows k = HalfRows(80, 2 * head_dim, 1);
    Rows v = HalfRows(80, 2 * head_dim, 2);
    for (int i = 0; i < 80; ++i) {
      k[i][5] = v[i][6] = 0.0F;
      k[i][7] = 3.0F;
      v[i][8] = Half(v[i][8] + 100.0F);
    }
    v[20][3] = kInfinity;
    k[40][9] = -kInfinity;
    v[50] = Row(2 * head_dim, -1.0F);
    EXPECT_EQ(Sealed(*MakeCuda(), head_dim, k, v), Sealed(*MakeCpu(), head_dim, k, v)) << head_dim;
  }
}

constexpr int kHeads = 4;
constexpr int kKvHeads = 2;
constexpr int kHeadDim = 32;
constexpr int kCount = 120;  // tokens of a sequence

constexpr int kOpenPages = 2;  // where pages are sealed

struct Kind {
  int page_size;
  KvFormat format;
};

// One sequence under a window, on pages of its own, which are dropped while it grows.
template <class B>
class Growing {
 public:
  Growing(std::unique_ptr<B> backend, const Kind& kind, const KeyWindow& window)
      : page_size_(kind.page_size), window_(window), backend_(std::move(backend)) {
    const int pages = (kCount + page_size_ - 1) / page_size_;
    EXPECT_TRUE(backend_->AllocatePages(
        {1, kKvHeads, kHeadDim, page_size_, pages, kind.format, kOpenPages}));
    pages_.resize(static_cast<std::size_t>(pages));
    std::iota(pages_.rbegin(), pages_.rend(), 0);
  }

  // Positions next() .. next() + count - 1.
  Rows Step(int count) {
    const auto slice = [&](const Rows& rows) {
      return Rows(rows.begin() + next_, rows.begin() + next_ + count);
    };
    auto q = Load(*backend_, slice(q_));
    auto k = Load(*backend_, slice(k_));
    const auto v = Load(*backend_, slice(v_));
    const Rope rope{.dims = kHeadDim};
    const RowRun run[] = {{.rows = count,
                           .first_position = next_,
                           .pages = pages_,
                           .window = window_,
                           .front_pages = front_,
                           .dropped_pages = dropped_,
                           .open_page = kOpenPages - 1}};
    backend_->RopeAndStore(q, k, v, rope, run, 0);
    next_ += count;
    return Attended(*backend_, q, {.scale = 0.25F, .rope = &rope}, run, 0);
  }

  // All pages that the next row sees no key of, which become NaN, leave the table.
  void Drop() {
    if (!window_.cuts(next_)) return;
    front_ = (window_.sinks + page_size_ - 1) / page_size_;
    const std::int64_t behind = window_.first_key(next_) / page_size_;
    const std::vector<std::byte> poison(backend_->page_bytes(), std::byte{0xFF});
    for (; front_ + dropped_ < behind; ++dropped_) {
      backend_->WritePage(pages_[static_cast<std::size_t>(front_)], poison);
      pages_.erase(pages_.begin() + front_);
    }
  }

  int next() const { return next_; }
  std::int64_t dropped() const { return dropped_; }

 private:
  const int page_size_;
  const KeyWindow window_;
  std::unique_ptr<B> backend_;
  const Rows q_ = HalfRows(kCount, kHeads* kHeadDim, 1);
  const Rows k_ = HalfRows(kCount, kKvHeads* kHeadDim, 2);
  const Rows v_ = HalfRows(kCount, kKvHeads* kHeadDim, 3);
  std::vector<std::int32_t> pages_;
  std::int64_t front_ = 0;
  std::int64_t dropped_ = 0;
  int next_ = 0;
};

class PageGaps : public ::testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(Kinds, PageGaps,
                         ::testing::Values(Kind{1, KvFormat::kF16}, Kind{16, KvFormat::kBf16},
                                           Kind{5, KvFormat::kInt8}, Kind{16, KvFormat::kFp8},
                                           Kind{16, KvFormat::kInt4}, Kind{48, KvFormat::kInt4}),
                         [](const auto& test) {
                           return std::string(LayoutOf(test.param.format).name) + "_" +
                                  std::to_string(test.param.page_size);
                         });

TEST_P(PageGaps, HaveTheBitsOfKeepingAllWhichAreTheCpusButForRounding) {
  const float bound = GetParam().format == KvFormat::kBf16 ? 2e-2F : 3e-3F;  // of 16-bit operands
  for (const KeyWindow& window : {KeyWindow{20, 1}, KeyWindow{20, 16}}) {
    const Rows expected = Growing(MakeCpu(), GetParam(), window).Step(kCount);
    const Rows whole = Growing(MakeCuda(), GetParam(), window).Step(kCount);
    for (std::size_t row = 0; row < whole.size(); ++row)
      ASSERT_THAT(whole[row], Pointwise(FloatNear(bound), expected[row])) << "row " << row;
    for (const int step : {1, 23}) {
      Growing growing(MakeCuda(), GetParam(), window);
      // Single tokens are the slow case: where windows begin to cut, and some further.
      const int capacity = static_cast<int>(window.capacity());
      if (step == 1) growing.Step(capacity - 1);
      while (growing.next() < (step == 1 ? capacity + 15 : kCount)) {
        const int first = growing.next();
        const int count = std::min(step, kCount - first);
        ASSERT_EQ(growing.Step(count), Rows(whole.begin() + first, whole.begin() + first + count))
            << "window " << window.window << ", sinks " << window.sinks << ", step " << step
            << ", first " << first;
        growing.Drop();
      }
      EXPECT_TRUE(growing.dropped() > 0 || step == 1);
    }
  }
}

// A row far behind its sinks: what it sees through a gap of all that lies between.
template <class B>
Row Distant(std::unique_ptr<B> backend, std::int64_t position) {
  constexpr int kPage = 8;
  const KeyWindow window{.window = 20, .sinks = 4};
  EXPECT_TRUE(backend->AllocatePages({1, 1, kHeadDim, kPage, 8, KvFormat::kInt8}));
  const Rope rope{.dims = kHeadDim, .base = 500.0F};
  std::vector<std::int32_t> pages = {7, 0, 1, 2, 3, 4, 5};
  const std::int64_t first = position - window.window + 1;
  const RowRun sinks{.rows = 4, .first_position = 0, .pages = pages, .window = window};
  // Of the first rows' windows not all is there; the last one's is.
  const RowRun rows{.rows = static_cast<std::int32_t>(window.window),
                    .first_position = first,
                    .pages = pages,
                    .window = window,
                    .front_pages = 1,
                    .dropped_pages = window.first_key(first) / kPage - 1};
  for (const RowRun& run : {sinks, rows}) {
    auto q = Load(*backend, HalfRows(run.rows, kHeadDim, 1));
    auto k = Load(*backend, HalfRows(run.rows, kHeadDim, 2));
    const auto v = Load(*backend, HalfRows(run.rows, kHeadDim, 3));
    backend->RopeAndStore(q, k, v, rope, {&run, 1}, 0);
    if (run.first_position == 0) continue;
    return Attended(*backend, q, {.scale = 0.25F, .rope = &rope}, {&run, 1}, 0).back();
  }
  return {};
}

TEST(DistantSinks, AreMetAtAnyPosition) {
  for (const std::int64_t position : {100'000, 1'000'000'000})
    EXPECT_THAT(Distant(MakeCuda(), position),
                Pointwise(FloatNear(2e-3F), Distant(MakeCpu(), position)));
}

// A run of one row on pages of 16, of which there are eight.
void Attend(const RowRun& run, std::int64_t layer_window = 0, bool roped = true) {
  const std::unique_ptr<CudaBackend> backend = MakeCuda();
  if (backend == nullptr || !backend->AllocatePages({1, 1, 8, 16, 8})) return;
  const auto q = Load(*backend, HalfRows(1, 8, 1));
  auto out = backend->MakeInput(1, 8);
  const Rope rope{.dims = 8};
  backend->Attend(q, {.window = layer_window, .rope = roped ? &rope : nullptr}, {&run, 1}, 0, out);
}

TEST(PageGapsDeathTest, RunsAreChecked) {
  const std::vector<std::int32_t> pages = {0, 1, 2, 3};
  const KeyWindow window{.window = 32, .sinks = 4};
  // Position 96 sees keys 65 and on: page 4.
  Attend({0, 1, 96, pages, window, 1, 3});
  EXPECT_DEATH(Attend({0, 1, 96, pages, window, 1, 4}), "no row sees a key in the gap");
  EXPECT_DEATH(Attend({0, 1, 112, pages, window, 1, 3}), "covers its rows");
  EXPECT_DEATH(Attend({0, 1, 20, pages, {.window = 4}}, 8), "layer or run has a window");
  EXPECT_DEATH(Attend({0, 1, 8, pages, {.window = 4, .sinks = 4}}, 0, false), "knows the rope");
  EXPECT_DEATH(Attend({.rows = 1, .first_position = 20, .pages = pages, .compacted = 3}, 8),
               "where a layer has a window runs see all their slots");
}

TEST(SealedPagesDeathTest, HaveOpenOnesBesideThemAndAreSharedWhole) {
  const KvShape shape{1, 1, 32, 16, 2, KvFormat::kInt4, 1};
  KvShape without = shape;
  without.open_pages = 0;
  EXPECT_DEATH(MakeCuda()->AllocatePages(without), "open ones beside them");
  KvShape odd = shape;
  odd.head_dim = 24;
  EXPECT_DEATH(MakeCuda()->AllocatePages(odd), "whole tiles");
  const std::unique_ptr<CudaBackend> backend = MakeCuda();
  EXPECT_TRUE(backend->AllocatePages(shape));
  const SlotCopy copy[] = {{0, 1, 4}};
  EXPECT_DEATH(backend->CopySlots(copy), "shared whole");
  auto x = Load(*backend, HalfRows(1, 32, 1));
  const std::vector<std::int32_t> pages = {0};
  const RowRun run{.rows = 1, .first_position = 0, .pages = pages, .open_page = 1};
  EXPECT_DEATH(backend->RopeAndStore(x, x, x, {.dims = 8}, {&run, 1}, 0), "has an open page");
}

}  // namespace
}  // namespace banyan::kernels::testing
