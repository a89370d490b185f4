// Tiny llama models of every tensor type and head layout against plain double arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "model/model.h"
#include "tests/model/reference_llama.h"
#include "tests/model/tiny_llama.h"

namespace banyan::model {
namespace {

using kernels::DType;

struct Layout {
  std::string name;
  TinyOptions options;
};

// The deviation of the logits from the reference's, in units of the reference's own.
struct Tolerance {
  DType type;
  const char* name;
  double deviation;
};
// Floats differ from the reference by K and V in f16 (2^-12 of a value). With quantized weights
// every product reads activations in int8: an error of up to half of 1/127 of the greatest of 32
// values, which is 0.5% of their deviation; some ten products in a row add up to a few of those.
constexpr Tolerance kTolerances[] = {
    {DType::kF32, "F32", 2e-3},
    {DType::kF16, "F16", 2e-3},
    {DType::kQ8_0, "Q8_0", 0.08},
    {DType::kQ4_1, "Q4_1", 0.08},
};

class LlamaLayouts : public ::testing::TestWithParam<std::tuple<Tolerance, Layout>> {};

using Row = std::vector<double>;

double Deviation(const Row& row, const Row& want) {
  double difference = 0;
  double squares = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    difference += (row[i] - want[i]) * (row[i] - want[i]);
    squares += want[i] * want[i];
  }
  return std::sqrt(difference / squares);
}

std::vector<TokenId> SomeTokens(int size, int vocabulary) {
  Random random(99);
  std::vector<TokenId> tokens;
  for (int i = 0; i < size; ++i) {
    tokens.push_back(static_cast<TokenId>(random.Below(static_cast<std::uint32_t>(vocabulary))));
  }
  return tokens;
}

TEST_P(LlamaLayouts, MatchTheReference) {
  const auto& [tolerance, layout] = GetParam();
  TinyOptions tiny = layout.options;
  tiny.type = tolerance.type;
  const TinyLlama llama(tiny);
  const auto model = Model::Load(OpenBytes(llama.Write()), {.page_size = 8, .kv_memory = 1 << 20});
  ASSERT_TRUE(model.ok()) << model.status();

  const std::vector<TokenId> tokens = SomeTokens(75, tiny.vocabulary);  // over one chunk of keys
  std::vector<PageId> pages(10);
  std::iota(pages.rbegin(), pages.rend(), 3);
  Batch batch;
  batch.sequences.push_back({.tokens = tokens, .pages = pages, .logits = Logits::kReturnAll});
  batch.sequences[0].sampling.temperature = 0;
  StepResult result;
  ASSERT_TRUE((*model)->Forward(batch, result).ok());

  const auto want = ReferenceLogits(llama, tokens);
  const std::vector<float>& got = result.sequences[0].logits;
  ASSERT_EQ(got.size(), tokens.size() * static_cast<std::size_t>(tiny.vocabulary));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Row row(got.begin() + static_cast<std::ptrdiff_t>(i * want[i].size()),
                  got.begin() + static_cast<std::ptrdiff_t>((i + 1) * want[i].size()));
    EXPECT_LT(Deviation(row, want[i]), tolerance.deviation) << "token " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    EveryTypeAndLayout, LlamaLayouts,
    ::testing::Combine(
        ::testing::ValuesIn(kTolerances),
        ::testing::Values(Layout{"GroupedQuery", {}}, Layout{"MultiHead", {.kv_heads = 4}},
                          Layout{"MultiQuery", {.kv_heads = 1}},
                          Layout{"TiedHead", {.tied_head = true}},
                          Layout{"ThreeHeadsOfAWideSize",
                                 {.heads = 3, .kv_heads = 3, .head_dim = 32, .rope_dims = 32}},
                          Layout{"PartlyRotated", {.rope_dims = 8, .rope_base = 500000}})),
    [](const auto& test) {
      return std::string(std::get<0>(test.param).name) + "_" + std::get<1>(test.param).name;
    });

INSTANTIATE_TEST_SUITE_P(WidthsThatAreNoMultiples, LlamaLayouts,
                         ::testing::Combine(::testing::Values(kTolerances[0], kTolerances[1]),
                                            ::testing::Values(Layout{"OddWidths",
                                                                     {.heads = 3,
                                                                      .kv_heads = 1,
                                                                      .head_dim = 8,
                                                                      .embedding = 37,
                                                                      .feed_forward = 45,
                                                                      .vocabulary = 101,
                                                                      .rope_dims = 6}})),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name);
                         });

// A test of the tolerances: a model that forgets to rotate, or reads another KV head, is far off.
TEST(LlamaTolerance, AWrongModelIsFarOff) {
  const TinyLlama right({.type = DType::kQ4_1});
  TinyOptions wrong = right.options;
  wrong.rope_base = 5000;
  TinyLlama other = right;
  other.options = wrong;
  const std::vector<TokenId> tokens = SomeTokens(40, wrong.vocabulary);
  const auto a = ReferenceLogits(right, tokens);
  const auto b = ReferenceLogits(other, tokens);
  EXPECT_GT(Deviation(b.back(), a.back()), 0.08);
}

TEST(LlamaFacts, SayWhatWasLoaded) {
  const TinyLlama llama({.type = DType::kF32});
  const auto model =
      Model::Load(OpenBytes(llama.Write()), {.page_size = 8, .kv_memory = 5 * 8 * 256 + 100});
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
  for (const auto& [name, tensor] : llama.tensors) parameters += tensor.rows * tensor.cols;
  EXPECT_EQ(facts.parameters, parameters);
  EXPECT_GE(facts.weight_bytes, parameters * 4);
  EXPECT_EQ(facts.kv_bytes_per_token, 2 * 2 * 2 * 16 * 2);  // layers, K and V, heads, dims, f16
  EXPECT_EQ((*model)->page_bytes(), 8 * 256);
  EXPECT_EQ((*model)->pages(), 5);
}

TEST(LlamaForward, NotANumberFailsTheStepAndTheModelStaysUsable) {
  TinyLlama llama({.type = DType::kF32});
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(llama.tensors.at("token_embd.weight").bytes.data(), &infinity, sizeof(infinity));
  const auto model = Model::Load(OpenBytes(llama.Write()), {.kv_memory = 1 << 16});
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

TEST(LlamaForward, AFailedStepSampledNothing) {
  TinyLlama llama({.type = DType::kF32});
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(llama.tensors.at("token_embd.weight").bytes.data(), &infinity, sizeof(infinity));
  const auto model = Model::Load(OpenBytes(llama.Write()), {.kv_memory = 1 << 16});
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

TEST(LlamaForward, EmptyBatchesAndCopiesAlone) {
  const TinyLlama llama({});
  const auto model = Model::Load(OpenBytes(llama.Write()), {.page_size = 4, .kv_memory = 1 << 16});
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
