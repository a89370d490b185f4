// Sequences that see attention sinks and a recent window, in a number of pages that does not grow.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <utility>

#include "model/model.h"
#include "tests/model/tiny_model.h"

namespace banyan::model {
namespace {

constexpr std::int32_t kPageSize = 16;

std::unique_ptr<Model> LoadModel(std::unique_ptr<File> file,
                                 kernels::KvFormat format = kernels::KvFormat::kF16) {
  auto model = Model::Load(std::move(file), {.threads = 2,
                                             .page_size = kPageSize,
                                             .kv_memory = std::int64_t{16} << 20,
                                             .kv_format = format,
                                             .max_batch_tokens = 160});
  EXPECT_TRUE(model.ok()) << model.status();
  return *std::move(model);
}

std::vector<TokenId> RandomTokens(const Model& model, int count) {
  Random random(5);
  const auto bound = static_cast<std::uint32_t>(model.facts().vocabulary_size);
  std::vector<TokenId> tokens(static_cast<std::size_t>(count));
  for (TokenId& token : tokens) token = static_cast<TokenId>(random.Below(bound));
  return tokens;
}

enum class Pages { kKept, kDropped };

// One sequence under a window, which takes pages as it grows and, where so asked, drops those of
// which nothing is seen any more: others take them at once.
class Stream {
 public:
  Stream(Model& model, const kernels::KeyWindow& window, Pages pages)
      : model_(model), window_(window), drops_(pages == Pages::kDropped) {
    free_.resize(40);
    std::iota(free_.begin(), free_.end(), 0);
  }

  // The logits of all of them.
  std::vector<float> Run(std::span<const TokenId> tokens) {
    const std::int64_t end = position_ + std::ssize(tokens);
    while ((std::ssize(table_) + gap_.dropped) * kPageSize < end) {
      table_.push_back(free_.back());
      free_.pop_back();
      peak_ = std::max(peak_, table_.size());
    }
    Batch batch;
    batch.sequences.push_back({.tokens = tokens,
                               .first_position = position_,
                               .pages = table_,
                               .gap = gap_,
                               .window = window_,
                               .logits = Logits::kReturnAll});
    StepResult result;
    const absl::Status status = model_.Forward(batch, result);
    EXPECT_TRUE(status.ok()) << status;
    position_ = end;
    if (drops_ && window_.cuts(end)) Drop();
    return result.sequences[0].logits;
  }

  // Goes on as if so many pages had been filled and dropped.
  void Skip(std::int64_t pages) {
    gap_.dropped += pages;
    position_ += pages * kPageSize;
  }

  std::size_t peak_pages() const { return peak_; }

 private:
  void Drop() {
    gap_.front = (window_.sinks + kPageSize - 1) / kPageSize;
    const std::vector<std::byte> poison(model_.page_bytes(), std::byte{0xFF});
    for (; gap_.front + gap_.dropped < window_.first_key(position_) / kPageSize; ++gap_.dropped) {
      const auto page = table_.begin() + gap_.front;
      model_.WritePage(*page, poison);
      free_.push_back(*page);
      table_.erase(page);
    }
  }

  Model& model_;
  const kernels::KeyWindow window_;
  const bool drops_;
  std::vector<PageId> free_;
  std::vector<PageId> table_;
  std::size_t peak_ = 0;
  PageGap gap_;
  std::int64_t position_ = 0;
};

// That of 300 tokens one by one, in few pages, each has the logits that it has where they are run
// together and no page is dropped; and that their number has no end.
void TestStreaming(Model& model) {
  constexpr kernels::KeyWindow kWindow{.window = 64, .sinks = 4};
  const std::vector<TokenId> tokens = RandomTokens(model, 300);
  const auto run = [&](Stream& stream, std::size_t chunk) {
    std::vector<float> logits;
    for (std::size_t at = 0; at < tokens.size(); at += chunk) {
      const auto part = std::span(tokens).subspan(at, std::min(chunk, tokens.size() - at));
      const std::vector<float> some = stream.Run(part);
      logits.insert(logits.end(), some.begin(), some.end());
    }
    return logits;
  };
  Stream kept(model, kWindow, Pages::kKept);
  const std::vector<float> whole = run(kept, 150);
  EXPECT_EQ(kept.peak_pages(), 19);
  for (const std::size_t chunk : {1, 23}) {
    Stream dropped(model, kWindow, Pages::kDropped);
    const std::vector<float> logits = run(dropped, chunk);
    ASSERT_EQ(logits.size(), whole.size());
    EXPECT_EQ(std::memcmp(logits.data(), whole.data(), whole.size() * sizeof(float)), 0)
        << "in chunks of " << chunk;
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
  const std::vector<float> all = run(unbounded, 150);
  const auto cut = static_cast<std::size_t>(kWindow.capacity()) * whole.size() / tokens.size();
  EXPECT_EQ(std::memcmp(all.data(), whole.data(), cut * sizeof(float)), 0) << "before it cuts";
  EXPECT_NE(std::memcmp(all.data() + cut, whole.data() + cut, whole.size() / tokens.size()), 0);
}

class TinyKeyWindow : public ::testing::TestWithParam<TinyOptions> {};
INSTANTIATE_TEST_SUITE_P(
    Families, TinyKeyWindow,
    ::testing::Values(TinyOptions{.rope_factors = {1, 1, 1, 2, 3, 8, 8, 8}},
                      TinyOptions{.family = "qwen2", .type = kernels::DType::kQ8_0, .rope_dims = 8},
                      TinyOptions{.family = "qwen3", .type = kernels::DType::kQ4_1, .kv_heads = 1}),
    [](const auto& test) { return test.param.family; });

TEST_P(TinyKeyWindow, StreamsInConstantMemory) {
  const auto model = LoadModel(OpenBytes(TinyModel(GetParam()).Write()));
  TestStreaming(*model);
}

// A query's own page, and maybe sinks in it, are read apart.
TEST(SealedKeyWindow, StreamsInConstantMemory) {
  const auto model = LoadModel(OpenBytes(TinyModel({.head_dim = 32, .rope_dims = 32}).Write()),
                               kernels::KvFormat::kInt4);
  TestStreaming(*model);
}

TEST(DefaultModelKeyWindow, StreamsInConstantMemory) {
  const char* path = std::getenv("BANYAN_MODEL");
  ASSERT_NE(path, nullptr) << "set BANYAN_MODEL to the default model's file (./dev where model)";
  auto file = File::Open(path);
  ASSERT_TRUE(file.ok()) << file.status();
  const auto model = LoadModel(*std::move(file));
  EXPECT_TRUE(model->facts().every_layer_sees_all);
  TestStreaming(*model);
}

TEST(KeyWindow, IsForModelsWhoseLayersSeeAll) {
  const auto sees_all = [](const TinyOptions& options) {
    return LoadModel(OpenBytes(TinyModel(options).Write()))->facts().every_layer_sees_all;
  };
  EXPECT_TRUE(sees_all({}));
  EXPECT_TRUE(sees_all({.family = "qwen3"}));
  EXPECT_FALSE(sees_all({.window = 37}));
  EXPECT_FALSE(sees_all({.family = "gemma3", .layers = 7, .window = 21}));
}

TEST(KeyWindowDeathTest, IsRefusedByOthers) {
  const auto model =
      LoadModel(OpenBytes(TinyModel({.family = "gemma3", .layers = 7, .window = 21}).Write()));
  Stream stream(*model, {.window = 64, .sinks = 4}, Pages::kKept);
  EXPECT_DEATH(stream.Run(std::vector<TokenId>{1}), "CHECK failed");
}

}  // namespace
}  // namespace banyan::model
