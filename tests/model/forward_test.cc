// What a loaded model says of itself, and what a step does besides its numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "model/model.h"
#include "tests/model/tiny_model.h"

namespace banyan::model {
namespace {

using kernels::DType;

TEST(LoadedModel, SaysWhatItIs) {
  const TinyModel tiny({.type = DType::kF32});
  const auto model =
      Model::Load(OpenBytes(tiny.Write()), {.page_size = 8, .kv_memory = 5 * 8 * 256 + 100});
  ASSERT_TRUE(model.ok()) << model.status();
  const Facts& facts = (*model)->facts();
  EXPECT_EQ(facts.name, "tiny");
  EXPECT_EQ(facts.architecture, "llama");
  EXPECT_EQ(facts.vocabulary_size, 100);
  EXPECT_EQ(facts.context_length, 512);
  EXPECT_EQ(facts.layers, 2);
  EXPECT_EQ(facts.kv_heads, 2);
  EXPECT_EQ(facts.head_dim, 16);
  std::int64_t parameters = 0;
  for (const auto& [name, tensor] : tiny.tensors) parameters += tensor.rows * tensor.cols;
  EXPECT_EQ(facts.parameters, parameters);
  EXPECT_GE(facts.weight_bytes, parameters * 4);
  EXPECT_EQ(facts.kv_bytes_per_token, 2 * 2 * 2 * 16 * 2);  // layers, K and V, heads, dims, f16
  EXPECT_EQ(facts.kv_dtype, "f16");
  EXPECT_EQ((*model)->page_bytes(), 8 * 256);
  EXPECT_EQ((*model)->pages(), 5);
}

TEST(LoadedModel, HasPagesOfTheFormatThatWasAskedFor) {
  const TinyModel tiny({.type = DType::kF32});
  constexpr std::int64_t kMemory = 100 * 8 * 256;
  const auto load = [&](kernels::KvFormat format) {
    auto model = Model::Load(OpenBytes(tiny.Write()),
                             {.page_size = 8, .kv_memory = kMemory, .kv_format = format});
    EXPECT_TRUE(model.ok()) << model.status();
    return *std::move(model);
  };
  const struct {
    kernels::KvFormat format;
    const char* name;
    std::int64_t token;
    std::int32_t pages;
  } kWant[] = {{kernels::KvFormat::kF16, "f16", 256, 100},
               {kernels::KvFormat::kBf16, "bf16", 256, 100},
               {kernels::KvFormat::kFp8, "fp8", 128, 200},
               {kernels::KvFormat::kInt8, "int8", 128 + 2 * 2 * 2 * 2, 177}};
  for (const auto& want : kWant) {
    const auto model = load(want.format);
    EXPECT_EQ(model->facts().kv_dtype, want.name);
    EXPECT_EQ(model->facts().kv_bytes_per_token, want.token);
    EXPECT_EQ(model->page_bytes(), static_cast<std::size_t>(8 * want.token));
    EXPECT_EQ(model->pages(), want.pages);
  }
}

TEST(LoadedModel, OpenPagesAreOfTheMemoryForPages) {
  const TinyModel tiny({.type = DType::kF32, .head_dim = 32, .rope_dims = 32});
  constexpr std::int64_t kToken = 2 * 2 * (32 + 6 + 2);        // layers, heads, codes and scales
  constexpr std::int64_t kOpenPage = 16 * 2 * 2 * 2 * 32 * 2;  // tokens, in f16
  const auto pages = [&](std::int64_t memory) {
    const auto model = Model::Load(OpenBytes(tiny.Write()), {.page_size = 16,
                                                             .kv_memory = memory,
                                                             .kv_format = kernels::KvFormat::kInt4,
                                                             .max_sequences = 5});
    EXPECT_TRUE(model.ok()) << model.status();
    const Facts& facts = (*model)->facts();
    EXPECT_EQ(facts.kv_dtype, "int4");
    EXPECT_TRUE(facts.seals_pages);
    EXPECT_EQ(facts.kv_bytes_per_token, kToken);
    EXPECT_EQ(facts.kv_open_bytes, 5 * kOpenPage);
    EXPECT_EQ((*model)->page_bytes(), static_cast<std::size_t>(16 * kToken));
    return (*model)->pages();
  };
  EXPECT_EQ(pages(5 * kOpenPage + 7 * 16 * kToken), 7);
  EXPECT_EQ(pages(5 * kOpenPage + 7 * 16 * kToken - 1), 6);
  EXPECT_EQ(pages(0), 1);
}

TEST(LoadedModel, PagesInInt4AreOfWholeTilesAndGroups) {
  const auto load = [](const TinyOptions& tiny, std::int32_t page_size) {
    return Model::Load(OpenBytes(TinyModel(tiny).Write()), {.page_size = page_size,
                                                            .kv_memory = 1 << 20,
                                                            .kv_format = kernels::KvFormat::kInt4})
        .status();
  };
  const absl::Status heads = load({.type = DType::kF32}, 16);
  EXPECT_EQ(heads.code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(heads.message()), ::testing::HasSubstr("multiple of 32"));
  const TinyOptions wide{.type = DType::kF32, .head_dim = 32, .rope_dims = 32};
  for (const std::int32_t page_size : {1, 15, 17, 24}) {
    const absl::Status status = load(wide, page_size);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("multiple of 16"));
  }
  EXPECT_TRUE(load(wide, 48).ok());
}

TEST(Forward, NotANumberFailsTheStepAndTheModelStaysUsable) {
  TinyModel tiny({.type = DType::kF32});
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(tiny.tensors.at("token_embd.weight").bytes.data(), &infinity, sizeof(infinity));
  const auto model = Model::Load(OpenBytes(tiny.Write()), {.kv_memory = 1 << 16});
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<PageId> pages = {0};
  for (const TokenId token : {0, 1}) {
    Batch batch{.step = 3};
    batch.sequences.push_back(
        {.tokens = {&token, 1}, .pages = pages, .logits = Logits::kSampleLast});
    StepResult result;
    const absl::Status status = (*model)->Forward(batch, result);
    EXPECT_EQ(result.step, 3);
    EXPECT_EQ(result.failed, token == 0);
    EXPECT_EQ(status.code(), token == 0 ? absl::StatusCode::kInternal : absl::StatusCode::kOk);
    EXPECT_EQ(result.sequences.at(0).token < 0, token == 0);
  }
}

TEST(Forward, AFailedStepSampledNothing) {
  TinyModel tiny({.type = DType::kF32});
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(tiny.tensors.at("token_embd.weight").bytes.data(), &infinity, sizeof(infinity));
  const auto model = Model::Load(OpenBytes(tiny.Write()), {.kv_memory = 1 << 16});
  ASSERT_TRUE(model.ok()) << model.status();
  const std::vector<TokenId> tokens = {1, 0};  // the second's embedding is not finite
  const std::vector<PageId> pages = {0, 1};
  Batch batch;
  for (std::size_t i = 0; i < 2; ++i) {
    batch.sequences.push_back({.tokens = std::span(tokens).subspan(i, 1),
                               .pages = std::span(pages).subspan(i, 1),
                               .logits = Logits::kReturnAll});
  }
  StepResult result;
  EXPECT_FALSE((*model)->Forward(batch, result).ok());
  ASSERT_EQ(result.sequences.size(), 2);
  EXPECT_EQ(result.sequences[0].token, -1);
  EXPECT_TRUE(result.sequences[0].logits.empty());
}

TEST(Forward, EmptyBatchesAndCopiesAlone) {
  const TinyModel tiny({});
  const auto model = Model::Load(OpenBytes(tiny.Write()), {.page_size = 4, .kv_memory = 1 << 16});
  ASSERT_TRUE(model.ok()) << model.status();
  StepResult result;
  EXPECT_TRUE((*model)->Forward({}, result).ok());
  std::vector<std::byte> bytes((*model)->page_bytes());
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 251);
  (*model)->WritePage(1, bytes);
  Batch batch;
  batch.copies.push_back({.from = 1, .to = 2, .slots = 4});
  ASSERT_TRUE((*model)->Forward(batch, result).ok());
  std::vector<std::byte> copied(bytes.size());
  (*model)->ReadPage(2, copied);
  EXPECT_EQ(copied, bytes);
}

}  // namespace
}  // namespace banyan::model
