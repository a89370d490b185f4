// What a file would be as a model, without loading it: the same facts and the same refusals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/model.h"
#include "tests/model/tiny_model.h"

namespace banyan::model {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Inspect, FactsAreThoseOfTheLoadedModel) {
  for (const std::string family : {"gemma3", "llama", "qwen2", "qwen3"}) {
    const TinyModel tiny({.family = family, .layers = 3, .tied_head = true});
    const Inspection inspection = Inspect(*OpenBytes(tiny.Write()));
    EXPECT_THAT(inspection.problems, IsEmpty());
    const auto model = Model::Load(OpenBytes(tiny.Write()), {.kv_memory = 1 << 16});
    ASSERT_TRUE(model.ok()) << model.status();
    const Facts& loaded = (*model)->facts();
    const Facts& facts = inspection.facts;
    EXPECT_EQ(facts.name, loaded.name);
    EXPECT_EQ(facts.architecture, loaded.architecture);
    EXPECT_EQ(facts.vocabulary_size, loaded.vocabulary_size);
    EXPECT_EQ(facts.context_length, loaded.context_length);
    EXPECT_EQ(facts.layers, loaded.layers);
    EXPECT_EQ(facts.heads, loaded.heads);
    EXPECT_EQ(facts.kv_heads, loaded.kv_heads);
    EXPECT_EQ(facts.head_dim, loaded.head_dim);
    EXPECT_EQ(facts.parameters, loaded.parameters);
    EXPECT_EQ(facts.kv_bytes_per_token, loaded.kv_bytes_per_token);
    // Loading pads rows to whole tiles.
    EXPECT_LE(facts.weight_bytes, loaded.weight_bytes);
  }
}

TEST(Inspect, TellsWhichLayersSeeAWindow) {
  const auto windows = [](const TinyOptions& options) {
    return Inspect(*OpenBytes(TinyModel(options).Write())).windows;
  };
  EXPECT_THAT(windows({.layers = 2}), ElementsAre(0, 0));
  EXPECT_THAT(windows({.layers = 2, .window = 24}), ElementsAre(24, 24));
  EXPECT_THAT(windows({.family = "gemma3", .layers = 3, .window = 24, .global_every = 2}),
              ElementsAre(24, 0, 24));
}

TEST(Inspect, AllThatKeepsAFileFromRunningIsSaid) {
  GgufWriter writer;
  writer.String("general.architecture", "mamba").String("general.name", "A name");
  writer.Uint32("mamba.block_count", 3).Uint32("mamba.context_length", 77);
  writer.Tensor("first", 16, {256}, std::vector<std::byte>(66));
  writer.Tensor("second", 16, {256}, std::vector<std::byte>(66));
  writer.Tensor("third", 24, {4}, std::vector<std::byte>(4));
  const Inspection inspection = Inspect(*OpenBytes(writer.Write()));
  EXPECT_EQ(inspection.facts.name, "A name");
  EXPECT_EQ(inspection.facts.architecture, "mamba");
  EXPECT_EQ(inspection.facts.layers, 3);
  EXPECT_EQ(inspection.facts.context_length, 77);
  EXPECT_EQ(inspection.facts.parameters, 516);
  EXPECT_EQ(inspection.facts.weight_bytes, 136);
  EXPECT_THAT(inspection.windows, IsEmpty()) << "which layers its keys mean is not known";
  EXPECT_THAT(inspection.problems,
              ElementsAre(AllOf(HasSubstr("'mamba'"), HasSubstr("llama")),
                          AllOf(HasSubstr("'first'"), HasSubstr("IQ2_XXS"), HasSubstr("2 tensors"),
                                HasSubstr("supported: F32, F16")),
                          AllOf(HasSubstr("'third'"), HasSubstr("I8"), HasSubstr("1 tensor has"))));
}

TEST(Inspect, AnEmptyFileIsDescribedByZeros) {
  const Inspection inspection = Inspect(*OpenBytes(GgufWriter().Write()));
  EXPECT_EQ(inspection.facts.architecture, "");
  EXPECT_EQ(inspection.facts.parameters, 0);
  EXPECT_EQ(inspection.facts.kv_bytes_per_token, 0);
  EXPECT_THAT(inspection.problems, ElementsAre(HasSubstr("general.architecture")));
}

TEST(Inspect, AbsurdNumbersAreNoFacts) {
  GgufWriter writer;
  writer.String("general.architecture", "llama");
  for (const char* key : {"block_count", "context_length", "embedding_length",
                          "attention.head_count_kv", "attention.key_length"}) {
    writer.Scalar(std::string("llama.") + key, GgufType::kUint64, std::uint64_t{1} << 30);
  }
  writer.Scalar("llama.attention.head_count", GgufType::kUint64, std::uint64_t{1} << 31);
  const Inspection inspection = Inspect(*OpenBytes(writer.Write()));
  EXPECT_EQ(inspection.facts.layers, 1 << 30);
  EXPECT_EQ(inspection.facts.heads, 0);
  EXPECT_EQ(inspection.facts.kv_bytes_per_token, 0) << "would not fit into 64 bits";
  EXPECT_THAT(inspection.problems, ElementsAre(HasSubstr("llama.block_count")));
}

}  // namespace
}  // namespace banyan::model
