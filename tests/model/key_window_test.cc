// Sequences that see attention sinks and a recent window, in a number of pages that does not grow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "tests/model/sequence_run.h"

namespace banyan::model {
namespace {

constexpr std::int32_t kPageSize = 16;

Options PagesOf(kernels::KvFormat format = kernels::KvFormat::kF16) {
  return {.threads = 2,
          .page_size = kPageSize,
          .kv_memory = std::int64_t{16} << 20,
          .kv_format = format,
          .max_batch_tokens = 160};
}

enum class Pages { kKept, kDropped };

// One sequence under a window, which, where so asked, drops the pages of which nothing is seen any
// more: it takes them again at once.
class Stream : public SequenceRun {
 public:
  Stream(Model& model, const kernels::KeyWindow& window, Pages pages)
      : SequenceRun(model, kPageSize, {.window = window}), drops_(pages == Pages::kDropped) {}

  std::vector<float> Run(std::span<const TokenId> tokens) override {
    const std::vector<float> logits = SequenceRun::Run(tokens);
    peak_ = std::max(peak_, table_.size());
    if (drops_ && next_.window.cuts(position())) Drop();
    return logits;
  }

  // Goes on as if so many pages had been filled and dropped.
  void Skip(std::int64_t pages) {
    next_.gap.dropped += pages;
    next_.first_position += pages * kPageSize;
  }

  std::size_t peak_pages() const { return peak_; }

 private:
  void Drop() {
    PageGap& gap = next_.gap;
    gap.front = (next_.window.sinks + kPageSize - 1) / kPageSize;
    const std::vector<std::byte> poison(model_.page_bytes(), std::byte{0xFF});
    for (; gap.front + gap.dropped < next_.window.first_key(position()) / kPageSize;
         ++gap.dropped) {
      const auto page = table_.begin() + gap.front;
      model_.WritePage(*page, poison);
      free_.push_back(*page);
      table_.erase(page);
    }
  }

  const bool drops_;
  std::size_t peak_ = 0;
};

// That of 300 tokens one by one, in few pages, each has the logits that it has where they are run
// together and no page is dropped; and that their number has no end.
void TestStreaming(Model& model) {
  constexpr kernels::KeyWindow kWindow{.window = 64, .sinks = 4};
  const std::vector<TokenId> tokens = RandomTokens(model, 300);
  Stream kept(model, kWindow, Pages::kKept);
  const std::vector<float> whole = kept.RunChunks(tokens, 150);
  EXPECT_EQ(kept.peak_pages(), 19);
  for (const std::size_t chunk : {1, 23}) {
    Stream dropped(model, kWindow, Pages::kDropped);
    const std::vector<float> logits = dropped.RunChunks(tokens, chunk);
    EXPECT_TRUE(AreSameBits(logits, whole)) << "in chunks of " << chunk;
    EXPECT_LE(dropped.peak_pages(), chunk == 1 ? 6 : 8);
    if (chunk > 1) continue;
    dropped.Skip(1'000'000);
    for (int i = 0; i < 3; ++i) {
      const std::vector<float> far = dropped.Run(std::span(tokens).first(30));
      EXPECT_TRUE(std::ranges::all_of(far, [](float x) { return std::isfinite(x); }));
    }
    EXPECT_LE(dropped.peak_pages(), 8);
  }

  Stream unbounded(model, {}, Pages::kKept);
  const std::vector<float> all = unbounded.RunChunks(tokens, 150);
  const std::size_t width = whole.size() / tokens.size();
  const auto cut = static_cast<std::size_t>(kWindow.capacity()) * width;
  const auto first = [](const std::vector<float>& logits, std::size_t count) {
    return std::span(logits).first(count);
  };
  EXPECT_TRUE(AreSameBits(first(all, cut), first(whole, cut))) << "before it cuts";
  EXPECT_FALSE(AreSameBits(first(all, cut + width), first(whole, cut + width)));
}

class TinyKeyWindow : public ::testing::TestWithParam<TinyOptions> {};
INSTANTIATE_TEST_SUITE_P(
    Families, TinyKeyWindow,
    ::testing::Values(TinyOptions{.rope_factors = {1, 1, 1, 2, 3, 8, 8, 8}},
                      TinyOptions{.family = "qwen2", .type = kernels::DType::kQ8_0, .rope_dims = 8},
                      TinyOptions{.family = "qwen3", .type = kernels::DType::kQ4_1, .kv_heads = 1}),
    [](const auto& test) { return test.param.family; });

TEST_P(TinyKeyWindow, StreamsInConstantMemory) {
  const auto model = LoadTiny(GetParam(), PagesOf());
  TestStreaming(*model);
}

// A query's own page, and maybe sinks in it, are read apart.
TEST(SealedKeyWindow, StreamsInConstantMemory) {
  const auto model = LoadTiny({.head_dim = 32, .rope_dims = 32}, PagesOf(kernels::KvFormat::kInt4));
  TestStreaming(*model);
}

TEST(DefaultModelKeyWindow, StreamsInConstantMemory) {
  const char* path = std::getenv("BANYAN_MODEL");
  ASSERT_NE(path, nullptr) << "set BANYAN_MODEL to the default model's file (./dev where model)";
  auto file = File::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto model = LoadFile(*std::move(file), PagesOf());
  EXPECT_TRUE(model->facts().every_layer_sees_all);
  TestStreaming(*model);
}

TEST(KeyWindow, IsForModelsWhoseLayersSeeAll) {
  const auto sees_all = [](const TinyOptions& options) {
    return LoadTiny(options, PagesOf())->facts().every_layer_sees_all;
  };
  EXPECT_TRUE(sees_all({}));
  EXPECT_TRUE(sees_all({.family = "qwen3"}));
  EXPECT_FALSE(sees_all({.window = 37}));
  EXPECT_FALSE(sees_all({.family = "gemma3", .layers = 7, .window = 21}));
}

TEST(KeyWindowDeathTest, IsRefusedByOthers) {
  const auto model = LoadTiny({.family = "gemma3", .layers = 7, .window = 21}, PagesOf());
  Stream stream(*model, {.window = 64, .sinks = 4}, Pages::kKept);
  EXPECT_DEATH(stream.Run(std::vector<TokenId>{1}), "CHECK failed");
}

}  // namespace
}  // namespace banyan::model
