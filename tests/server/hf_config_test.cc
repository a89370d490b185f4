// What a config.json tells of a model's memory, in the forms that models' authors give it.
#include "server/plan/hf_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/server/plan_configs.h"

namespace banyan::server {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// 6 layers, 4 heads of 16.
std::string Config(const std::string& more) {
  return R"({"num_hidden_layers": 6, "num_attention_heads": 4, "hidden_size": 64)" + more + "}";
}

Subject Parsed(const std::string& text) {
  const absl::StatusOr<Subject> subject = ParseHfConfig(text);
  EXPECT_TRUE(subject.ok()) << subject.status() << "\n" << text;
  return subject.value_or(Subject());
}

std::vector<std::int64_t> WindowsOf(const std::string& more) {
  return Parsed(Config(more)).shape.windows;
}

std::string RefusalOf(const std::string& text) {
  const absl::StatusOr<Subject> subject = ParseHfConfig(text);
  EXPECT_FALSE(subject.ok()) << text;
  return std::string(subject.status().message());
}
std::string Refusal(const std::string& more) { return RefusalOf(Config(more)); }

TEST(HfConfig, WhatIsLeftOutFollowsFromTheRest) {
  const Subject subject = Parsed(Config(""));
  EXPECT_EQ(subject.shape.layers, 6);
  EXPECT_EQ(subject.heads, 4);
  EXPECT_EQ(subject.shape.kv_heads, 4) << "one for each query head";
  EXPECT_EQ(subject.shape.head_dim, 16) << "hidden_size / num_attention_heads";
  EXPECT_THAT(subject.shape.windows, IsEmpty());
  EXPECT_EQ(subject.context_length, 0);
  EXPECT_FALSE(subject.weights.has_value());
}

TEST(HfConfig, WhatIsWrittenCounts) {
  const Subject subject = Parsed(
      Config(R"(, "num_key_value_heads": 2, "head_dim": 24, "max_position_embeddings": 100)"));
  EXPECT_EQ(subject.shape.kv_heads, 2);
  EXPECT_EQ(subject.shape.head_dim, 24);
  EXPECT_EQ(subject.context_length, 100);
}

TEST(HfConfig, NullIsAsGoodAsAbsent) {
  const Subject subject = Parsed(Config(
      R"(, "num_key_value_heads": null, "head_dim": null, "sliding_window": null,
          "kv_lora_rank": null, "layer_types": null)"));
  EXPECT_EQ(subject.shape.kv_heads, 4);
  EXPECT_EQ(subject.shape.head_dim, 16);
  EXPECT_THAT(subject.shape.windows, IsEmpty());
  EXPECT_FALSE(subject.shape.latent.has_value());
}

TEST(HfConfig, TheTextModelOfSeveralIsMeant) {
  const Subject subject = Parsed(
      R"({"model_type": "many", "torch_dtype": "float16", "hidden_size": 7,
          "text_config": {"model_type": "llama", "num_hidden_layers": 6, "num_attention_heads": 4,
                          "hidden_size": 64, "intermediate_size": 128, "vocab_size": 100},
          "vision_config": {"num_hidden_layers": 99, "num_attention_heads": 16}})");
  EXPECT_EQ(subject.architecture, "llama");
  EXPECT_EQ(subject.shape.layers, 6);
  EXPECT_EQ(subject.shape.head_dim, 16);
  ASSERT_TRUE(subject.weights.has_value());
  EXPECT_EQ(subject.weights->dtype, "float16") << "stands beside the text model";
}

TEST(HfConfig, AWindowIsOfEveryLayer) {
  EXPECT_THAT(WindowsOf(R"(, "sliding_window": 7)"), AllOf(::testing::SizeIs(6), Each(7)));
}

TEST(HfConfig, AWindowMayBeSwitchedOff) {
  EXPECT_THAT(WindowsOf(R"(, "sliding_window": 7, "use_sliding_window": false)"), IsEmpty());
  EXPECT_THAT(WindowsOf(R"(, "sliding_window": 7, "use_sliding_window": true)"), Each(7));
}

TEST(HfConfig, FirstLayersMaySeeAll) {
  EXPECT_THAT(
      WindowsOf(R"(, "sliding_window": 7, "use_sliding_window": true, "max_window_layers": 2)"),
      ElementsAre(0, 0, 7, 7, 7, 7));
}

TEST(HfConfig, OneLayerInSoManySeesAll) {
  EXPECT_THAT(WindowsOf(R"(, "sliding_window": 7, "sliding_window_pattern": 3)"),
              ElementsAre(7, 7, 0, 7, 7, 0));
  EXPECT_THAT(WindowsOf(R"(, "sliding_window": 7, "_sliding_window_pattern": 2)"),
              ElementsAre(7, 0, 7, 0, 7, 0));
  EXPECT_THAT(WindowsOf(R"(, "sliding_window": 7, "model_type": "gemma3_text")"),
              ElementsAre(7, 7, 7, 7, 7, 0));
  EXPECT_THAT(WindowsOf(R"(, "sliding_window": 7, "model_type": "gemma2")"),
              ElementsAre(7, 0, 7, 0, 7, 0));
  EXPECT_THAT(WindowsOf(R"(, "sliding_window": 7, "model_type": "cohere2")"),
              ElementsAre(7, 7, 7, 0, 7, 7));
}

TEST(HfConfig, TypesOfLayersWinOverPatterns) {
  EXPECT_THAT(WindowsOf(R"(, "sliding_window": 7, "sliding_window_pattern": 2, "layer_types":
                   ["full_attention", "sliding_attention", "sliding_attention",
                    "full_attention", "full_attention", "full_attention"])"),
              ElementsAre(0, 7, 7, 0, 0, 0));
}

TEST(HfConfig, TypesOfLayersMustFit) {
  EXPECT_THAT(Refusal(R"(, "sliding_window": 7, "layer_types": ["full_attention"])"),
              HasSubstr("'layer_types' has 1 entries, but there are 6 layers"));
  const auto six = [](const std::string& type) {
    std::string list;
    for (int i = 0; i < 6; ++i) absl::StrAppend(&list, i == 0 ? "" : ", ", type);
    return R"(, "layer_types": [)" + list + "]";
  };
  EXPECT_THAT(Refusal(six("\"sliding_attention\"")), HasSubstr("'sliding_window' is missing"));
  EXPECT_THAT(Refusal(six("\"linear_attention\"")), HasSubstr("'linear_attention'"));
  EXPECT_THAT(Refusal(six("7")), HasSubstr("layer_types"));
  EXPECT_THAT(Refusal(R"(, "layer_types": "all")"), HasSubstr("'layer_types' is not a list"));
}

// Gemma 3 4B as published leaves out its heads, and means 8, 4 and 256.
TEST(HfConfig, GemmasLeaveOutMore) {
  const Subject subject = Parsed(
      R"({"model_type": "gemma3", "text_config": {"model_type": "gemma3_text",
          "hidden_size": 2560, "num_hidden_layers": 34, "sliding_window": 1024}})");
  EXPECT_EQ(subject.heads, 8);
  EXPECT_EQ(subject.shape.kv_heads, 4);
  EXPECT_EQ(subject.shape.head_dim, 256);
  EXPECT_EQ(subject.shape.windowed_layers(), 29);
}

TEST(HfConfig, ALatentTakesThePlaceOfHeads) {
  const Subject subject = Parsed(Config(R"(, "kv_lora_rank": 32, "qk_rope_head_dim": 8)"));
  ASSERT_TRUE(subject.shape.latent.has_value());
  EXPECT_EQ(subject.shape.latent->rank, 32);
  EXPECT_EQ(subject.shape.latent->rope, 8);
  EXPECT_EQ(subject.shape.latent->head_dim, 0) << "not told";
  EXPECT_EQ(subject.shape.kv_heads, 1);
  EXPECT_THAT(Refusal(R"(, "kv_lora_rank": 32)"), HasSubstr("'qk_rope_head_dim' is missing"));
  EXPECT_THAT(Refusal(R"(, "kv_lora_rank": 31, "qk_rope_head_dim": 8)"), HasSubstr("odd"));
}

TEST(HfConfig, ParametersAreCountedFromTheSizes) {
  const std::map<std::string, std::int64_t> published = {
      {"llama-2-7b", 6'738'415'616},   {"llama-2-13b", 13'015'864'320},
      {"llama-2-70b", 68'976'648'192}, {"llama-3-8b", 8'030'261'248},
      {"llama-3-70b", 70'553'706'496}, {"llama-3.1-405b", 405'853'388'800},
      {"mistral-7b", 7'241'732'096},   {"qwen2.5-7b", 7'615'616'512},
      {"gemma-3-1b", 999'885'952}};
  for (const auto& [name, count] : published) {
    const Subject subject = KnownModelSubject(name);
    EXPECT_EQ(subject.parameters, count) << name;
    ASSERT_TRUE(subject.weights.has_value()) << name;
    EXPECT_EQ(subject.weights->bytes, 2 * count) << name;
    EXPECT_EQ(subject.weights->from, WeightsFrom::kEstimate);
  }
  // 27 and 671 billion: without images, and without the layers that predict further tokens.
  EXPECT_EQ(KnownModelSubject("gemma-3-27b").parameters, 27'009'346'304);
  const Subject deepseek = KnownModelSubject("deepseek-v3");
  EXPECT_NEAR(static_cast<double>(deepseek.parameters), 671.03e9, 0.01e9);
  EXPECT_EQ(deepseek.weights->dtype, "fp8");
  EXPECT_EQ(deepseek.weights->bytes, deepseek.parameters);
}

// Mixtral 8x7B has 46.7 billion, and Qwen3 30B-A3B 30.5.
TEST(HfConfig, ExpertsAreCounted) {
  const Subject mixtral = Parsed(
      R"({"model_type": "mixtral", "hidden_size": 4096, "intermediate_size": 14336,
          "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8,
          "num_local_experts": 8, "vocab_size": 32000, "torch_dtype": "bfloat16"})");
  EXPECT_EQ(mixtral.parameters, 46'702'792'704);
  const Subject qwen = Parsed(
      R"({"model_type": "qwen3_moe", "hidden_size": 2048, "intermediate_size": 6144,
          "moe_intermediate_size": 768, "num_hidden_layers": 48, "num_attention_heads": 32,
          "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "vocab_size": 151936,
          "tie_word_embeddings": false, "torch_dtype": "bfloat16"})");
  EXPECT_EQ(qwen.parameters, 30'532'122'624);
}

TEST(HfConfig, WeightsAreOfTheWrittenType) {
  const auto weights = [](const std::string& more) {
    return Parsed(Config(R"(, "intermediate_size": 128, "vocab_size": 100)" + more)).weights;
  };
  const std::int64_t parameters =
      Parsed(Config(R"(, "intermediate_size": 128, "vocab_size": 100)")).parameters;
  EXPECT_GT(parameters, 0);
  EXPECT_FALSE(weights("").has_value()) << "no type, no size";
  EXPECT_FALSE(weights(R"(, "torch_dtype": "auto")").has_value());
  EXPECT_EQ(weights(R"(, "torch_dtype": "float32")")->bytes, 4 * parameters);
  EXPECT_EQ(weights(R"(, "dtype": "bfloat16")")->bytes, 2 * parameters);
}

TEST(HfConfig, QuantizedWeightsAreAsManyBits) {
  const std::string sizes = R"(, "intermediate_size": 128, "vocab_size": 100, "dtype": "float16")";
  const std::int64_t parameters = Parsed(Config(sizes)).parameters;
  const auto weights = [&](const std::string& quantization) {
    return Parsed(Config(sizes + R"(, "quantization_config": )" + quantization)).weights;
  };
  EXPECT_EQ(weights(R"({"quant_method": "gptq", "bits": 4})")->bytes, parameters / 2);
  EXPECT_EQ(weights(R"({"quant_method": "fp8"})")->bytes, parameters);
  EXPECT_FALSE(weights(R"({"quant_method": "mxfp4"})").has_value());
  EXPECT_FALSE(weights(R"({"quant_method": "x", "bits": 0})").has_value());
  EXPECT_FALSE(weights(R"({"quant_method": "x", "bits": 33})").has_value());
}

TEST(HfConfig, WhatIsMissingOrWrongIsNamed) {
  EXPECT_THAT(RefusalOf("{}"), HasSubstr("'num_hidden_layers' is missing"));
  EXPECT_THAT(RefusalOf(R"({"num_hidden_layers": 2})"),
              HasSubstr("'num_attention_heads' is missing"));
  EXPECT_THAT(RefusalOf(R"({"num_hidden_layers": 2, "num_attention_heads": 2})"),
              HasSubstr("'hidden_size' is missing"));
  const auto with = [](const std::string& name, const std::string& value) {
    return Refusal(absl::StrCat(", \"", name, "\": ", value));
  };
  EXPECT_THAT(with("num_key_value_heads", "0"), HasSubstr("'num_key_value_heads' is 0; 1 to 4096"));
  EXPECT_THAT(with("num_key_value_heads", "-1"), HasSubstr("'num_key_value_heads' is -1"));
  EXPECT_THAT(with("num_key_value_heads", "3"), HasSubstr("is 4, no multiple of"));
  EXPECT_THAT(with("num_key_value_heads", "5"), HasSubstr("is 4, no multiple of"));
  EXPECT_THAT(with("num_key_value_heads", "\"2\""), HasSubstr("is not a number"));
  EXPECT_THAT(with("num_key_value_heads", "[2]"), HasSubstr("is not a number"));
  EXPECT_THAT(with("head_dim", "65537"), HasSubstr("'head_dim' is 65537"));
  EXPECT_THAT(with("head_dim", "1.5"), HasSubstr("'head_dim' is not a whole number"));
  EXPECT_THAT(with("head_dim", "1e300"), HasSubstr("'head_dim' is not a whole number"));
  EXPECT_THAT(with("head_dim", "99999999999999999999"), HasSubstr("'head_dim'"));
  EXPECT_THAT(with("sliding_window", "0"), HasSubstr("'sliding_window' is 0"));
  EXPECT_THAT(with("sliding_window", "-4096"), HasSubstr("'sliding_window' is -4096"));
  EXPECT_THAT(with("use_sliding_window", "1"), HasSubstr("is not true or false"));
  EXPECT_THAT(with("max_position_embeddings", "-1"), HasSubstr("'max_position_embeddings'"));
  EXPECT_THAT(with("v_head_dim", "8"), HasSubstr("'v_head_dim'"));
  EXPECT_THAT(with("model_type", "7"), HasSubstr("'model_type' is not a text"));
  EXPECT_THAT(with("quantization_config", "4"), HasSubstr("'quantization_config'"));
  EXPECT_THAT(RefusalOf(R"({"num_hidden_layers": 2, "num_attention_heads": 3, "hidden_size": 8})"),
              HasSubstr("'hidden_size' is 8, no multiple of 'num_attention_heads', which is 3"));
}

TEST(HfConfig, LayersOfOtherKindsAreRefusedByName) {
  for (const char* name : {"attn_layer_period", "full_attention_interval",
                           "hybrid_override_pattern", "layers_block_type"}) {
    EXPECT_THAT(Refusal(absl::StrCat(", \"", name, "\": 4")), HasSubstr(name));
  }
  EXPECT_THAT(Refusal(R"(, "num_kv_shared_layers": 2)"), HasSubstr("'num_kv_shared_layers'"));
  EXPECT_EQ(Parsed(Config(R"(, "num_kv_shared_layers": 0)")).shape.layers, 6);
}

TEST(HfConfig, SizesThatMakeNoModelAreRefused) {
  EXPECT_THAT(RefusalOf(R"({"num_hidden_layers": 4096, "num_attention_heads": 4096, "head_dim": 64,
                            "hidden_size": 16777216, "intermediate_size": 16777216,
                            "num_experts": 65536, "vocab_size": 16777216})"),
              HasSubstr("2^53"));
}

TEST(HfConfig, WhatIsNoJsonObjectIsRefused) {
  EXPECT_THAT(RefusalOf("PK"), AllOf(HasSubstr("no GGUF file"), HasSubstr("not valid JSON")));
  EXPECT_THAT(RefusalOf("{\"num_hidden_layers\": 6,}"), HasSubstr("not valid JSON"));
  EXPECT_THAT(RefusalOf("{\"num_hidden_layers\": 6"), HasSubstr("not valid JSON"));
  EXPECT_THAT(RefusalOf(Config("") + "x"), HasSubstr("not valid JSON"));
  EXPECT_THAT(RefusalOf("[1]"), HasSubstr("not an object"));
  EXPECT_THAT(RefusalOf(std::string(100, '[')), HasSubstr("not valid JSON"));
}

TEST(ReadSubject, FindsTheConfigOfAFolder) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "/config.json") << Config("");
  const absl::StatusOr<Subject> subject = ReadSubject(folder);
  ASSERT_TRUE(subject.ok()) << subject.status();
  EXPECT_EQ(subject->shape.layers, 6);
}

TEST(ReadSubject, SaysWhyAFileIsNoModel) {
  const std::string path = ::testing::TempDir() + "/subject_test";
  const auto refusal = [&](const std::string& content) {
    std::ofstream(path, std::ios::binary) << content;
    return std::string(ReadSubject(path).status().message());
  };
  EXPECT_THAT(refusal(""), AllOf(HasSubstr("no GGUF file"), HasSubstr("empty")));
  EXPECT_THAT(refusal("GGUF"), AllOf(Not(IsEmpty()), Not(HasSubstr("JSON"))));
  EXPECT_THAT(refusal("text"), HasSubstr("not valid JSON"));
  EXPECT_EQ(refusal(Config("") + std::string((1 << 20) - Config("").size(), ' ')), "");
  EXPECT_THAT(refusal(Config("") + std::string((1 << 20) - Config("").size() + 1, ' ')),
              HasSubstr("more than 1048576 bytes"));
  EXPECT_EQ(ReadSubject("/nowhere").status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace banyan::server
