// What Model::Load refuses, each by the name of what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>

#include "model/model.h"
#include "tests/model/tiny_model.h"

namespace banyan::model {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

absl::Status ErrorOf(std::vector<std::byte> bytes, std::int32_t max_batch_tokens = 256) {
  return Model::Load(OpenBytes(std::move(bytes)),
                     {.kv_memory = 1 << 16, .max_batch_tokens = max_batch_tokens})
      .status();
}

template <typename... Parts>
void ExpectRefused(const absl::Status& status, StatusCode code, const Parts&... parts) {
  EXPECT_EQ(status.code(), code) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(parts)..., Not(HasSubstr("\n"))));
}

// A tiny model whose keys are those of `settings` instead of its own.
absl::Status WithSettings(const std::map<std::string, std::uint32_t>& integers,
                          const std::function<void(GgufWriter&)>& more = {},
                          std::int32_t max_batch_tokens = 256) {
  std::map<std::string, std::uint32_t> keys = {
      {"block_count", 2},          {"context_length", 512},     {"embedding_length", 64},
      {"feed_forward_length", 96}, {"attention.head_count", 4}, {"attention.head_count_kv", 2}};
  for (const auto& [key, value] : integers) keys[key] = value;
  GgufWriter writer;
  writer.String("general.architecture", "llama");
  for (const auto& [key, value] : keys) {
    if (value != UINT32_MAX) writer.Uint32("llama." + key, value);  // else left out
  }
  if (more) {
    more(writer);
  } else {
    writer.Float32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
  }
  TinyModel({}).AddTensors(writer);
  return ErrorOf(writer.Write(), max_batch_tokens);
}

TEST(Load, TheLeastOfSettingsIsEnough) { EXPECT_TRUE(WithSettings({}).ok()) << WithSettings({}); }

TEST(Load, MissingSettingsAreNamed) {
  for (const std::string key : {"block_count", "context_length", "embedding_length",
                                "feed_forward_length", "attention.head_count"}) {
    ExpectRefused(WithSettings({{key, UINT32_MAX}}), StatusCode::kInvalidArgument, "llama." + key,
                  "missing");
    ExpectRefused(WithSettings({{key, 0}}), StatusCode::kInvalidArgument, "llama." + key, "is 0");
    ExpectRefused(WithSettings({{key, 0xFFFFFFF0}}), StatusCode::kInvalidArgument, "llama." + key);
  }
  ExpectRefused(WithSettings({}, [](GgufWriter&) {}), StatusCode::kInvalidArgument,
                "llama.attention.layer_norm_rms_epsilon", "missing");
}

TEST(Load, ContradictorySettings) {
  const auto kBad = StatusCode::kInvalidArgument;
  ExpectRefused(WithSettings({{"attention.head_count_kv", 3}}), kBad, "head_count_kv");
  ExpectRefused(WithSettings({{"attention.head_count", 6}}), kBad, "embedding_length");
  ExpectRefused(WithSettings({{"attention.key_length", 12}}), kBad, "multiple of 8");
  ExpectRefused(WithSettings({{"attention.head_count", 16}}), kBad, "multiple of 8");
  ExpectRefused(WithSettings({{"attention.value_length", 8}}), kBad, "value_length");
  ExpectRefused(WithSettings({{"rope.dimension_count", 15}}), kBad, "rope.dimension_count");
  ExpectRefused(WithSettings({{"rope.dimension_count", 18}}), kBad, "rope.dimension_count");
  ExpectRefused(WithSettings({{"vocab_size", 99}}), kBad, "vocab_size");
  EXPECT_TRUE(WithSettings({{"vocab_size", 100}}).ok());
}

TEST(Load, NumbersThatAreNone) {
  for (const float epsilon : {0.0F, -1.0F, 1.0F, std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::infinity()}) {
    ExpectRefused(WithSettings({},
                               [&](GgufWriter& w) {
                                 w.Float32("llama.attention.layer_norm_rms_epsilon", epsilon);
                               }),
                  StatusCode::kInvalidArgument, "layer_norm_rms_epsilon");
  }
  ExpectRefused(WithSettings({},
                             [&](GgufWriter& w) {
                               w.Float32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
                               w.Float32("llama.rope.freq_base",
                                         std::numeric_limits<float>::quiet_NaN());
                             }),
                StatusCode::kInvalidArgument, "rope.freq_base");
}

// Regression: a number whose float, or its inverse, is none ran, and every step failed.
TEST(Load, NumbersThatAreNoneAsFloats) {
  const std::string epsilon = "llama.attention.layer_norm_rms_epsilon";
  const std::vector<std::pair<std::string, double>> settings = {
      {epsilon, 1e-300},
      {"llama.rope.freq_base", 1e-300},
      {"llama.rope.scaling.factor", 1e-300},
      {"llama.rope.scaling.factor", 1e-40}};
  for (const auto& [key, value] : settings) {
    const auto write = [&, key = key, value = value](GgufWriter& writer) {
      if (key != epsilon) writer.Float32(epsilon, 1e-5F);
      writer.Scalar(key, GgufType::kFloat64, value);
    };
    ExpectRefused(WithSettings({}, write), StatusCode::kInvalidArgument, key);
  }
}

// What a key asks for that would change the answers, and is not built.
struct Refusal {
  std::string key;  // behind the family's name
  void (*write)(GgufWriter& writer, const std::string& key);
  std::string what;  // said in the message
  std::vector<std::string> families = {"gemma3", "llama", "qwen2", "qwen3"};
};

template <int kValue>
void Whole(GgufWriter& writer, const std::string& key) {
  writer.Uint32(key, kValue);
}
template <int kHalves>
void Half(GgufWriter& writer, const std::string& key) {
  writer.Float32(key, kHalves * 0.5F);
}
template <bool kValue>
void Flag(GgufWriter& writer, const std::string& key) {
  writer.Scalar(key, GgufType::kBool, std::uint8_t{kValue});
}
void Yarn(GgufWriter& writer, const std::string& key) { writer.String(key, "yarn"); }
void Longrope(GgufWriter& writer, const std::string& key) { writer.String(key, "longrope"); }
void Sections(GgufWriter& writer, const std::string& key) {
  writer.Array<std::uint32_t>(key, GgufType::kUint32, {1, 2, 3, 4});
}

const Refusal kRefusals[] = {
    {"expert_count", Whole<8>, "a router and the tensors ffn_*_exps"},
    {"pooling_type", Whole<1>, "pooled embeddings"},
    {"nextn_predict_layers", Whole<1>, "predict several tokens"},
    {"attention.shared_kv_layers", Whole<2>, "share keys and values"},
    {"attention.clamp_kqv", Half<16>, "clamped"},
    {"attention.max_alibi_bias", Half<16>, "ALiBi"},
    {"attention.scale", Half<1>, "scale of its own"},
    {"attention.temperature_scale", Half<1>, "temperature"},
    {"attn_logit_softcapping", Half<100>, "capped attention scores"},
    {"final_logit_softcapping", Half<60>, "capped logits"},
    {"logit_scale", Half<1>, "scaled logits"},
    {"residual_scale", Half<1>, "scaled residual"},
    {"embedding_scale", Half<24>, "embedding scale"},
    {"attention.causal", Flag<false>, "later tokens"},
    {"use_parallel_residual", Flag<true>, "side by side"},
    {"rope.dimension_sections", Sections, "several dimensions"},
    {"rope.scaling.type", Yarn, "other than none and linear"},
    {"rope.scaling.type", Longrope, "other than none and linear"},
    {"rope.scaling.alpha", Half<4>, "depends on the context"},
    {"rope.scaling.attn_factor", Half<3>, "scores scaled"},
    {"attention.sliding_window", Whole<64>, "a window", {"qwen2", "qwen3"}},
    {"attention.sliding_window_pattern", Whole<2>, "some layers only", {"llama"}},
    {"attention.sliding_window_pattern", Sections, "a value for each layer", {"gemma3"}},
};

TEST(Load, WhatIsNotBuiltIsNamed) {
  for (const Refusal& refusal : kRefusals) {
    for (const std::string& family : refusal.families) {
      const TinyModel tiny({.family = family, .window = family == "gemma3" ? 8 : 0});
      GgufWriter writer = tiny.Settings();
      const std::string key = family + "." + refusal.key;
      refusal.write(writer, key);
      tiny.AddTensors(writer);
      ExpectRefused(ErrorOf(writer.Write()), StatusCode::kUnimplemented, "'" + key + "'",
                    refusal.what, "not supported");
    }
  }
}

TEST(Load, KeysThatAskForNothingAreHarmless) {
  for (const std::string family : {"gemma3", "llama", "qwen2", "qwen3"}) {
    const TinyModel tiny({.family = family});
    GgufWriter writer = tiny.Settings();
    writer.Uint32(family + ".expert_count", 0).Uint32(family + ".pooling_type", 0);
    writer.Float32(family + ".final_logit_softcapping", 0).Float32(family + ".logit_scale", 1);
    writer.String(family + ".rope.scaling.type", "none");
    writer.Float32(family + ".rope.scaling.factor", 4);
    writer.Scalar(family + ".attention.causal", GgufType::kBool, std::uint8_t{1});
    writer.Uint32(family + ".attention.sliding_window", 512);  // the whole context
    tiny.AddTensors(writer);
    const absl::Status status = ErrorOf(writer.Write());
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST(Load, AValueForEachLayerIsNotSupported) {
  const TinyModel tiny({});
  GgufWriter writer;
  writer.String("general.architecture", "llama");
  writer.Uint32("llama.block_count", 2).Uint32("llama.embedding_length", 64);
  writer.Array<std::uint32_t>("llama.feed_forward_length", GgufType::kUint32, {96, 96});
  tiny.AddTensors(writer);
  ExpectRefused(ErrorOf(writer.Write()), StatusCode::kUnimplemented,
                "'llama.feed_forward_length' has a value for each layer");
}

TEST(Load, HeadsOfTwoSizesAreRefused) {
  for (const char* key : {"attention.key_length_swa", "attention.value_length_swa"}) {
    const TinyModel tiny({.family = "gemma3", .window = 8});
    GgufWriter writer = tiny.Settings();
    writer.Uint32(std::string("gemma3.") + key, 24);
    tiny.AddTensors(writer);
    ExpectRefused(ErrorOf(writer.Write()), StatusCode::kInvalidArgument, "key_length_swa");
  }
}

TEST(Load, Gemma3MustNameTheBaseOfItsGlobalLayers) {
  const TinyModel tiny({.family = "gemma3"});
  GgufWriter writer;
  writer.String("general.architecture", "gemma3");
  for (const auto& [key, value] :
       std::map<std::string, std::uint32_t>{{"block_count", 2},
                                            {"context_length", 512},
                                            {"embedding_length", 64},
                                            {"feed_forward_length", 96},
                                            {"attention.head_count", 4},
                                            {"attention.head_count_kv", 2}}) {
    writer.Uint32("gemma3." + key, value);
  }
  writer.Float32("gemma3.attention.layer_norm_rms_epsilon", 1e-5F);
  tiny.AddTensors(writer);
  ExpectRefused(ErrorOf(writer.Write()), StatusCode::kInvalidArgument, "rope.freq_base");
}

TEST(Load, RopeFactorsMustBePositiveAndOnePerPair) {
  const auto kBad = StatusCode::kInvalidArgument;
  const auto with = [](std::vector<float> factors) {
    return ErrorOf(TinyModel({.rope_factors = std::move(factors)}).Write());
  };
  EXPECT_TRUE(with(std::vector<float>(8, 2)).ok());
  ExpectRefused(with(std::vector<float>(7, 2)), kBad, "rope_freqs.weight", "8 x 1");
  ExpectRefused(with(std::vector<float>(9, 2)), kBad, "rope_freqs.weight", "8 x 1");
  for (const float factor : {0.0F, -1.0F, std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()}) {
    std::vector<float> factors(8, 1);
    factors[3] = factor;
    ExpectRefused(with(factors), kBad, "rope_freqs.weight", "not positive");
  }
}

TEST(Load, UnknownArchitectures) {
  GgufWriter none;
  ExpectRefused(ErrorOf(none.Write()), StatusCode::kInvalidArgument, "general.architecture");
  GgufWriter other;
  other.String("general.architecture", "mamba\n");
  ExpectRefused(ErrorOf(other.Write()), StatusCode::kUnimplemented, "'mamba\\n'",
                "gemma3, llama, qwen2, qwen3");
}

TEST(Load, WhatIsNoModelOfItsOwn) {
  GgufWriter adapter;
  adapter.String("general.type", "adapter").String("general.architecture", "llama");
  ExpectRefused(ErrorOf(adapter.Write()), StatusCode::kUnimplemented, "general.type", "'adapter'");
  GgufWriter model;
  model.String("general.type", "model").String("general.architecture", "mamba");
  ExpectRefused(ErrorOf(model.Write()), StatusCode::kUnimplemented, "'mamba'");
}

TEST(Load, LongNamesAreCutInMessages) {
  const std::string name(60000, '\x01');
  GgufWriter architecture;
  architecture.String("general.architecture", name);
  TinyModel tensor({});
  tensor.tensors[name] = tensor.tensors.at("output_norm.weight");
  for (const absl::Status& status : {ErrorOf(architecture.Write()), ErrorOf(tensor.Write())}) {
    ExpectRefused(status, StatusCode::kUnimplemented, "...'");
    EXPECT_LT(status.message().size(), 600);
  }
}

const std::string kFamilies[] = {"gemma3", "llama", "qwen2", "qwen3"};

TEST(Load, EveryTensorMustBeThere) {
  for (const std::string& family : kFamilies) {
    const TinyModel whole({.family = family});
    for (const auto& [name, tensor] : whole.tensors) {
      if (name == "output.weight") continue;  // then the head is tied
      TinyModel part = whole;
      part.tensors.erase(name);
      ExpectRefused(ErrorOf(part.Write()), StatusCode::kInvalidArgument, name, "missing");
    }
  }
}

TEST(Load, EveryTensorMustHaveItsShape) {
  for (const std::string& family : kFamilies) {
    const TinyModel whole({.family = family, .biases = family == "llama"});
    for (const auto& [name, tensor] : whole.tensors) {
      TinyModel other = whole;
      TinyTensor& changed = other.tensors.at(name);
      changed.rows += 1;
      changed.bytes.resize(changed.bytes.size() + static_cast<std::size_t>(changed.cols) * 4);
      // The embedding's rows are the vocabulary, which a key states as well.
      const std::string named = name == "token_embd.weight" ? "vocab_size" : name;
      ExpectRefused(ErrorOf(other.Write()), StatusCode::kInvalidArgument, named);
    }
  }
}

TEST(Load, TensorsThatWouldBeIgnoredAreRefused) {
  const std::map<std::string, std::vector<std::string>> strangers = {
      {"gemma3", {"blk.0.attn_q.bias", "rope_freqs.weight"}},
      {"llama", {"blk.0.attn_q_norm.weight", "blk.2.attn_norm.weight", "output.bias", "mystery"}},
      {"qwen2", {"blk.0.attn_output.bias", "rope_freqs.weight", "blk.0.attn_k_norm.weight"}},
      {"qwen3", {"blk.0.attn_q.bias", "blk.0.post_ffw_norm.weight", "rope_freqs.weight"}}};
  for (const auto& [family, names] : strangers) {
    for (const std::string& name : names) {
      TinyModel tiny({.family = family});
      tiny.tensors[name] = tiny.tensors.at("output_norm.weight");
      ExpectRefused(ErrorOf(tiny.Write()), StatusCode::kUnimplemented, name, family);
    }
  }
}

TEST(Load, TypesWithoutKernelsAreNamed) {
  const TinyModel tiny({});
  GgufWriter writer = tiny.Settings();
  for (const auto& [name, tensor] : tiny.tensors) {
    if (name == "blk.1.ffn_up.weight") {
      writer.Tensor(name, 20, {64, 96}, std::vector<std::byte>(96 * 2 * 18));  // IQ4_NL
      continue;
    }
    writer.Tensor(name, 0, tensor.dims(), tensor.bytes);
  }
  ExpectRefused(ErrorOf(writer.Write()), StatusCode::kUnimplemented, "blk.1.ffn_up.weight",
                "IQ4_NL", "not supported");
}

TEST(Load, RopeFactorsOfATypeWithoutKernelsAreNamed) {
  const TinyModel tiny({});
  GgufWriter writer = tiny.Settings();
  tiny.AddTensors(writer);
  writer.Tensor("rope_freqs.weight", 28, {8}, std::vector<std::byte>(8 * 8));  // F64
  ExpectRefused(ErrorOf(writer.Write()), StatusCode::kUnimplemented, "rope_freqs.weight", "F64");
}

TEST(Load, BytesOfAnotherOwnerAreLeftAlone) {
  const std::vector<std::byte> bytes = TinyModel({}).Write();
  const std::vector<std::byte> before = bytes;
  auto file = Gguf::Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(Model::Load(*std::move(file), {.kv_memory = 1 << 16}).ok());
  EXPECT_TRUE(bytes == before) << "releasing tensors wiped them";
}

TEST(Load, OptionsOutOfRange) {
  const auto code = [](const Options& options) {
    return Model::Load(OpenBytes(TinyModel({}).Write()), options).status().code();
  };
  EXPECT_EQ(code({.threads = 0}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.page_size = 1025}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.kv_memory = -1}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.max_batch_tokens = 0}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.max_batch_tokens = 1}), StatusCode::kOk);
}

TEST(Load, WidthsThatNoMachineHasMemoryForAreAnError) {
  // 256 GiB for the residual alone; a machine that promises them goes on to miss the tensors.
  const absl::Status status =
      WithSettings({{"embedding_length", 1 << 20}, {"attention.key_length", 16}}, {}, 65536);
  EXPECT_TRUE(status.code() == StatusCode::kResourceExhausted ||
              status.code() == StatusCode::kInvalidArgument)
      << status;
}

TEST(Load, RunsOnAsManyThreadsAsAsked) {
  const auto threads = [] {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return std::distance(begin(tasks), end(tasks));
  };
  const auto load = [](std::int32_t count) {
    return Model::Load(OpenBytes(TinyModel({}).Write()), {.threads = count});
  };
  const auto first = load(2);  // a sanitizer starts a thread of its own with the first one
  ASSERT_TRUE(first.ok()) << first.status();
  const auto before = threads();
  const auto model = load(3);
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(threads(), before + 2);  // the caller's is the third
}

TEST(Load, APoolThatCannotBeHadIsAnError) {
  // 2^26 pages of 4 MiB: more than there are addresses.
  const TinyModel tiny({.layers = 8, .heads = 8, .kv_heads = 8, .head_dim = 64, .rope_dims = 64});
  const auto model =
      Model::Load(OpenBytes(tiny.Write()), {.page_size = 256, .kv_memory = std::int64_t{1} << 50});
  EXPECT_EQ(model.status().code(), StatusCode::kResourceExhausted) << model.status();
}

}  // namespace
}  // namespace banyan::model
