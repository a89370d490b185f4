// Tiny models of every family, tensor type and head layout against plain double arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "model/architectures.h"
#include "model/model.h"
#include "tests/model/reference_model.h"
#include "tests/model/tiny_model.h"

namespace banyan::model {
namespace {

using kernels::DType;
using ::testing::Combine;
using ::testing::Values;
using ::testing::ValuesIn;
using Row = std::vector<double>;

constexpr int kTokens = 75;  // over one chunk of keys

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
constexpr Tolerance kFloats = {DType::kF32, "F32", 2e-3};
constexpr Tolerance kQuantized = {DType::kQ4_1, "Q4_1", 0.08};
constexpr Tolerance kOtherTypes[] = {
    {DType::kF16, "F16", 2e-3},   {DType::kBF16, "BF16", 2e-3}, {DType::kQ8_0, "Q8_0", 0.08},
    {DType::kQ4_0, "Q4_0", 0.08}, {DType::kQ5_0, "Q5_0", 0.08}, {DType::kQ5_1, "Q5_1", 0.08},
};
// Blocks of 256 columns: rows are no narrower.
constexpr Tolerance kWideTolerances[] = {
    {DType::kQ4_K, "Q4_K", 0.08},
    {DType::kQ5_K, "Q5_K", 0.08},
    {DType::kQ6_K, "Q6_K", 0.08},
};
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

// Runs `tiny` as a file would be, and compares the logits after each token.
void ExpectMatch(const TinyOptions& tiny, double tolerance) {
  const TinyModel written(tiny);
  const auto model =
      Model::Load(OpenBytes(written.Write()), {.page_size = 8, .kv_memory = 4 << 20});
  ASSERT_TRUE(model.ok()) << model.status();

  const std::vector<TokenId> tokens = SomeTokens(kTokens, tiny.vocabulary);
  std::vector<PageId> pages(10);
  std::iota(pages.rbegin(), pages.rend(), 3);
  Batch batch;
  batch.sequences.push_back({.tokens = tokens, .pages = pages, .logits = Logits::kReturnAll});
  batch.sequences[0].sampling.temperature = 0;
  StepResult result;
  ASSERT_TRUE((*model)->Forward(batch, result).ok());

  const auto want = ReferenceLogits(written, tokens);
  const std::vector<float>& got = result.sequences[0].logits;
  ASSERT_EQ(got.size(), tokens.size() * static_cast<std::size_t>(tiny.vocabulary));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Row row(got.begin() + static_cast<std::ptrdiff_t>(i * want[i].size()),
                  got.begin() + static_cast<std::ptrdiff_t>((i + 1) * want[i].size()));
    EXPECT_LT(Deviation(row, want[i]), tolerance) << "token " << i;
  }
}

// The table of architectures and this test know the same families.
constexpr const char* kFamilies[] = {"gemma3", "llama", "qwen2", "qwen3"};

TEST(Families, AllThatRunAreTested) {
  std::vector<std::string> names;
  for (const Architecture& architecture : Architectures()) names.emplace_back(architecture.name);
  EXPECT_THAT(names, ::testing::ElementsAreArray(kFamilies));
}

class Heads : public ::testing::TestWithParam<std::tuple<const char*, Tolerance, Layout>> {};

TEST_P(Heads, MatchTheReference) {
  const auto& [family, tolerance, layout] = GetParam();
  TinyOptions tiny = layout.options;
  tiny.family = family;
  tiny.type = tolerance.type;
  ExpectMatch(tiny, tolerance.deviation);
}

std::string NameOfHeads(const ::testing::TestParamInfo<Heads::ParamType>& test) {
  return std::string(std::get<0>(test.param)) + "_" + std::get<1>(test.param).name + "_" +
         std::get<2>(test.param).name;
}

INSTANTIATE_TEST_SUITE_P(
    EveryLayout, Heads,
    Combine(ValuesIn(kFamilies), Values(kFloats, kQuantized),
            Values(Layout{"GroupedQuery", {}}, Layout{"MultiHead", {.kv_heads = 4}},
                   Layout{"MultiQuery", {.kv_heads = 1}}, Layout{"TiedHead", {.tied_head = true}},
                   Layout{"ThreeHeadsOfAWideSize",
                          {.heads = 3, .kv_heads = 3, .head_dim = 32, .rope_dims = 32}},
                   Layout{"PartlyRotated", {.rope_dims = 8, .rope_base = 500000}})),
    NameOfHeads);

INSTANTIATE_TEST_SUITE_P(OtherTypes, Heads,
                         Combine(ValuesIn(kFamilies), ValuesIn(kOtherTypes),
                                 Values(Layout{"GroupedQuery", {}})),
                         NameOfHeads);

INSTANTIATE_TEST_SUITE_P(
    BlocksOf256, Heads,
    Combine(ValuesIn(kFamilies), ValuesIn(kWideTolerances),
            Values(Layout{
                "Wide", {.head_dim = 64, .embedding = 256, .feed_forward = 256, .rope_dims = 64}})),
    NameOfHeads);

INSTANTIATE_TEST_SUITE_P(WidthsThatAreNoMultiples, Heads,
                         Combine(ValuesIn(kFamilies),
                                 Values(kFloats, kOtherTypes[0], kOtherTypes[1]),
                                 Values(Layout{"OddWidths",
                                               {.heads = 3,
                                                .kv_heads = 1,
                                                .head_dim = 8,
                                                .embedding = 37,
                                                .feed_forward = 45,
                                                .vocabulary = 101,
                                                .rope_dims = 6}})),
                         NameOfHeads);

// What only some families have, each beside a change that must show: the reference computes both
// on the same weights.
struct Peculiarity {
  std::string name;
  TinyOptions options;
  void (*change)(TinyModel& tiny);
};

class Peculiarities : public ::testing::TestWithParam<std::tuple<Tolerance, Peculiarity>> {};

TEST_P(Peculiarities, MatchTheReference) {
  const auto& [tolerance, peculiarity] = GetParam();
  TinyOptions tiny = peculiarity.options;
  tiny.type = tolerance.type;
  ExpectMatch(tiny, tolerance.deviation);
}

// A test of the tolerances: a model that gets the peculiarity wrong is far outside.
TEST_P(Peculiarities, AWrongModelIsFarOff) {
  const auto& [tolerance, peculiarity] = GetParam();
  if (tolerance.type != DType::kF32) return;  // it is the reference that is looked at
  const TinyModel right(peculiarity.options);
  TinyModel wrong = right;
  peculiarity.change(wrong);
  const std::vector<TokenId> tokens = SomeTokens(kTokens, right.options.vocabulary);
  const auto a = ReferenceLogits(right, tokens);
  const auto b = ReferenceLogits(wrong, tokens);
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, Deviation(b[i], a[i]));
  EXPECT_GT(worst, 10 * tolerance.deviation);
}

void Erase(TinyModel& tiny, const std::string& ending) {
  std::erase_if(tiny.tensors, [&](const auto& entry) { return entry.first.ends_with(ending); });
}

void SetToOne(TinyModel& tiny, const std::string& ending) {
  for (auto& [name, tensor] : tiny.tensors) {
    if (name.ends_with(ending)) std::fill(tensor.values.begin(), tensor.values.end(), 1.0);
  }
}

const Peculiarity kPeculiarities[] = {
    {"llama_RotationOfNeighbours", {}, [](TinyModel& m) { m.options.family = "qwen2"; }},
    {"llama_LinearScaling", {.rope_scaling = 4}, [](TinyModel& m) { m.options.rope_scaling = 1; }},
    {"llama_RopeFactors",
     {.rope_factors = {1, 1, 1, 1.7F, 3.2F, 8, 8, 8}},
     [](TinyModel& m) { m.options.rope_factors = {1, 1, 1, 1.7F, 3.2F, 1, 1, 1}; }},
    {"llama_Window", {.window = 24}, [](TinyModel& m) { m.options.window = 25; }},
    {"llama_Biases", {.biases = true}, [](TinyModel& m) { Erase(m, "ffn_down.bias"); }},
    {"qwen2_Biases", {.family = "qwen2"}, [](TinyModel& m) { Erase(m, "attn_v.bias"); }},
    {"qwen2_LinearScaling",
     {.family = "qwen2", .rope_scaling = 4},
     [](TinyModel& m) { m.options.rope_scaling = 1; }},
    {"qwen3_HeadNorms",
     {.family = "qwen3"},
     [](TinyModel& m) { SetToOne(m, "attn_k_norm.weight"); }},
    {"gemma3_AllLayersSeeAll", {.family = "gemma3"}, [](TinyModel& m) { m.options.window = 24; }},
    {"gemma3_FiveOfSixLayersSeeAWindow",
     {.family = "gemma3", .layers = 7, .rope_base = 1000000, .window = 24},
     [](TinyModel& m) { m.options.global_every = 7; }},
    {"gemma3_WindowOf24",
     {.family = "gemma3", .window = 24, .global_every = 2},
     [](TinyModel& m) { m.options.window = 25; }},
    {"gemma3_TwoBases",
     {.family = "gemma3", .rope_base = 1000000, .window = 24, .global_every = 2},
     [](TinyModel& m) { m.options.local_rope_base = 1000000; }},
    {"gemma3_ALocalBaseOfItsOwn",
     {.family = "gemma3", .window = 24, .local_rope_base = 500, .global_every = 2},
     [](TinyModel& m) { m.options.local_rope_base = 10000; }},
    {"gemma3_GlobalLayersAreScaled",
     {.family = "gemma3", .rope_scaling = 8, .window = 24, .global_every = 2},
     [](TinyModel& m) { m.options.rope_scaling = 1; }},
    {"gemma3_PostNorms",
     {.family = "gemma3"},
     [](TinyModel& m) { SetToOne(m, "post_ffw_norm.weight"); }},
};

INSTANTIATE_TEST_SUITE_P(OfFamilies, Peculiarities,
                         Combine(Values(kFloats, kQuantized), ValuesIn(kPeculiarities)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param).name) + "_" +
                                  std::get<1>(test.param).name;
                         });

// Sixty-two layers mean the 27B model, which scales scores by the width: a head of 8 beside 64 / 4.
TEST(Gemma3, TheDeepestModelScalesScoresByItsWidth) {
  TinyOptions tiny{.family = "gemma3", .layers = 62, .head_dim = 8, .rope_dims = 8};
  tiny.vocabulary = 33;
  ExpectMatch(tiny, 0.01);
}

TEST(Llama, TheOlderNameOfLinearScaling) {
  const TinyModel tiny({.rope_scaling = 4});
  GgufWriter writer = TinyModel({}).Settings();
  writer.Float32("llama.rope.scale_linear", 4);
  tiny.AddTensors(writer);
  const auto logits = [](std::vector<std::byte> bytes) {
    const auto model = Model::Load(OpenBytes(std::move(bytes)), {.kv_memory = 1 << 16});
    EXPECT_TRUE(model.ok()) << model.status();
    const std::vector<TokenId> tokens = {1, 2, 3};
    const std::vector<PageId> pages = {0};
    Batch batch;
    batch.sequences.push_back({.tokens = tokens, .pages = pages, .logits = Logits::kReturnAll});
    StepResult result;
    EXPECT_TRUE((*model)->Forward(batch, result).ok());
    return result.sequences.at(0).logits;
  };
  EXPECT_EQ(logits(writer.Write()), logits(tiny.Write()));
  EXPECT_NE(logits(writer.Write()), logits(TinyModel({}).Write()));
}

}  // namespace
}  // namespace banyan::model
