// What a model says of its device, what it refuses, and what it does where memory is short: by the
// device of host execution, whose memory is 512 MiB.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "kernels/cuda/runtime.h"
#include "tests/cuda/model_rig.h"
#include "tests/model/golden_logits.h"

namespace banyan::model::testing {
namespace {

using kernels::KvFormat;
using ::testing::HasSubstr;

TEST(CudaModel, SaysWhatComputesIt) {
  const std::unique_ptr<Model> device = Load({}, OptionsOf(Backend::kCuda));
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->facts().device, "host execution");
  EXPECT_EQ(device->facts().cpu_variant, "");
  EXPECT_TRUE(device->facts().compacts);
  EXPECT_EQ(Load({}, OptionsOf(Backend::kCpu))->facts().device, "");
}

// Pages are padded to 16 bytes a layer: with one KV head and a page of one token, int8 has 2 * 16
// numbers and 2 scales of 2 bytes.
TEST(CudaModel, PagesAreCountedAsTheyAreAllocated) {
  Options options = OptionsOf(Backend::kCuda, KvFormat::kInt8);
  options.page_size = 1;
  options.kv_memory = 100 * 2 * 48 + 10;
  const std::unique_ptr<Model> device = Load({.kv_heads = 1}, options);
  ASSERT_NE(device, nullptr);
  EXPECT_EQ(device->page_bytes(), 2 * 48);
  EXPECT_EQ(device->pages(), 100);
  EXPECT_EQ(device->facts().kv_bytes_per_token, 2 * 48);
}

TEST(CudaModel, SealedPagesAreTheCpusAndOpenOnesBesideThemAreCounted) {
  const TinyOptions tiny = {.head_dim = 32, .rope_dims = 32};
  const std::unique_ptr<Model> cpu = Load(tiny, OptionsOf(Backend::kCpu, KvFormat::kInt4));
  const std::unique_ptr<Model> device = Load(tiny, OptionsOf(Backend::kCuda, KvFormat::kInt4));
  ASSERT_TRUE(cpu != nullptr && device != nullptr);
  EXPECT_TRUE(device->facts().seals_pages);
  EXPECT_EQ(device->page_bytes(), cpu->page_bytes());
  EXPECT_EQ(device->pages(), cpu->pages());
  EXPECT_GT(device->facts().kv_open_bytes, 0);
  EXPECT_EQ(device->facts().kv_open_bytes, cpu->facts().kv_open_bytes);
}

TEST(CudaModel, RefusesWhatItsKernelsDoNotTake) {
  const auto refusal = [](const TinyOptions& tiny, const Options& options) {
    return Model::Load(OpenBytes(TinyModel(tiny).Write()), options).status();
  };
  Options options = OptionsOf(Backend::kCuda);
  const absl::Status wide =
      refusal({.heads = 1, .kv_heads = 1, .head_dim = 264, .rope_dims = 264}, options);
  EXPECT_EQ(wide.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(wide.message()), HasSubstr("heads of at most 256 numbers, not 264"));
  const absl::Status odd = refusal({.embedding = 36}, options);
  EXPECT_EQ(odd.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(odd.message()), HasSubstr("not 36"));
  options.device = 7;
  const absl::Status absent = refusal({}, options);
  EXPECT_EQ(absent.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(absent.message()), HasSubstr("no device 7"));
}

// Open pages of 48 sequences take 96 MiB of it.
TEST(CudaModel, TakesWhatTheDeviceHasFreeForPages) {
  const TinyOptions tiny = {.kv_heads = 4, .head_dim = 64, .rope_dims = 64};
  for (const KvFormat format : {KvFormat::kF16, KvFormat::kInt4}) {
    Options options = OptionsOf(Backend::kCuda, format);
    options.kv_memory = 0;
    options.page_size = 1024;
    options.max_sequences = 48;
    const std::size_t before = kernels::cuda::FreeBytes();
    const std::unique_ptr<Model> device = Load(tiny, options);
    ASSERT_NE(device, nullptr);
    EXPECT_EQ(device->facts().kv_open_bytes, format == KvFormat::kInt4 ? 96 << 20 : 0);
    const std::size_t pool = device->page_bytes() * static_cast<std::size_t>(device->pages());
    EXPECT_GT(pool, before / 3);
    const std::size_t left = kernels::cuda::FreeBytes();
    EXPECT_GE(left, std::size_t{64} << 20) << "for the tables of large steps";
    EXPECT_LT(left, std::size_t{192} << 20);
    LogitsInChunks(*device, Prompt(100), 16, Table(device->pages() - 10));
  }
}

TEST(CudaModel, SaysWhatWouldFitWhereMemoryIsShort) {
  Options options = OptionsOf(Backend::kCuda);
  options.kv_memory = std::int64_t{1} << 40;
  const absl::Status pool = Model::Load(OpenBytes(TinyModel({}).Write()), options).status();
  EXPECT_EQ(pool.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(pool.message()),
              ::testing::ContainsRegex("the device has [0-9]+ bytes free, which hold [0-9]+ "
                                       "tokens in f16"));
  options = OptionsOf(Backend::kCuda);
  options.max_batch_tokens = 65536;
  const absl::Status buffers =
      Model::Load(OpenBytes(TinyModel({.feed_forward = 1024}).Write()), options).status();
  EXPECT_EQ(buffers.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(buffers.message()),
              ::testing::ContainsRegex("weights of [0-9]+ bytes.*65536 tokens, do not fit: host "
                                       "execution has [0-9]+ bytes free"));
  EXPECT_EQ(kernels::cuda::FirstError(), "");
}

// The file's first prompts, a few tokens: the emulation takes 0.2 s for each.
TEST(CudaModel, SmolLm2GivesTheOraclesLogits) {
  ExpectGoldenLogits({.name = "smollm2",
                      .environment = "BANYAN_MODEL",
                      .file = "smollm2_logits.txt",
                      .rms = 0.1,
                      .bound = 0.4,
                      .decided = 4,
                      .backend = Backend::kCuda,
                      .prompts = 2});
}

}  // namespace
}  // namespace banyan::model::testing
