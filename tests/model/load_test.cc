// What Model::Load refuses, each by the name of what is wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>

#include "model/model.h"
#include "tests/model/tiny_llama.h"

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
  TinyLlama({}).AddTensors(writer);
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

TEST(Load, WhatIsNotBuiltIsNamed) {
  const auto with = [](const std::function<void(GgufWriter&)>& add) {
    return WithSettings({}, [&](GgufWriter& writer) {
      writer.Float32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
      add(writer);
    });
  };
  const auto kNot = StatusCode::kUnimplemented;
  ExpectRefused(with([](auto& w) { w.Uint32("llama.expert_count", 8); }), kNot, "expert_count");
  ExpectRefused(with([](auto& w) { w.String("llama.rope.scaling.type", "yarn"); }), kNot,
                "rope.scaling.type");
  ExpectRefused(with([](auto& w) { w.Float32("llama.rope.scaling.factor", 4); }), kNot,
                "rope.scaling.factor");
  ExpectRefused(with([](auto& w) { w.Float32("llama.rope.scale_linear", 2); }), kNot,
                "rope.scale_linear");
  ExpectRefused(with([](auto& w) { w.Uint32("llama.attention.sliding_window", 4096); }), kNot,
                "sliding_window");
  ExpectRefused(with([](auto& w) { w.Float32("llama.attention.clamp_kqv", 8); }), kNot,
                "clamp_kqv");
  ExpectRefused(with([](auto& w) { w.Float32("llama.logit_scale", 0.5F); }), kNot, "logit_scale");
  const absl::Status harmless = with([](GgufWriter& writer) {
    writer.Uint32("llama.expert_count", 0);
    writer.String("llama.rope.scaling.type", "none");
    writer.Float32("llama.rope.scaling.factor", 4);
  });
  EXPECT_TRUE(harmless.ok()) << harmless;
}

TEST(Load, UnknownArchitectures) {
  GgufWriter none;
  ExpectRefused(ErrorOf(none.Write()), StatusCode::kInvalidArgument, "general.architecture");
  GgufWriter other;
  other.String("general.architecture", "mamba\n");
  ExpectRefused(ErrorOf(other.Write()), StatusCode::kUnimplemented, "'mamba\\n'", "llama");
}

TEST(Load, LongNamesAreCutInMessages) {
  const std::string name(60000, '\x01');
  GgufWriter architecture;
  architecture.String("general.architecture", name);
  TinyLlama tensor({});
  tensor.tensors[name] = tensor.tensors.at("output_norm.weight");
  for (const absl::Status& status : {ErrorOf(architecture.Write()), ErrorOf(tensor.Write())}) {
    ExpectRefused(status, StatusCode::kUnimplemented, "...'");
    EXPECT_LT(status.message().size(), 600);
  }
}

TEST(Load, EveryTensorMustBeThere) {
  const TinyLlama whole({});
  for (const auto& [name, tensor] : whole.tensors) {
    if (name == "output.weight") continue;  // then the head is tied
    TinyLlama part = whole;
    part.tensors.erase(name);
    ExpectRefused(ErrorOf(part.Write()), StatusCode::kInvalidArgument, name, "missing");
  }
}

TEST(Load, EveryTensorMustHaveItsShape) {
  const TinyLlama whole({});
  for (const auto& [name, tensor] : whole.tensors) {
    TinyLlama other = whole;
    TinyTensor& changed = other.tensors.at(name);
    changed.rows += 1;
    changed.bytes.resize(changed.bytes.size() + static_cast<std::size_t>(changed.cols) * 4);
    // The embedding's rows are the vocabulary, which a key states as well.
    const std::string named = name == "token_embd.weight" ? "vocab_size" : name;
    ExpectRefused(ErrorOf(other.Write()), StatusCode::kInvalidArgument, named);
  }
}

TEST(Load, TensorsThatWouldBeIgnoredAreRefused) {
  for (const char* name :
       {"blk.0.attn_q.bias", "rope_freqs.weight", "blk.2.attn_norm.weight", "mystery"}) {
    TinyLlama llama({});
    llama.tensors[name] = llama.tensors.at("output_norm.weight");
    ExpectRefused(ErrorOf(llama.Write()), StatusCode::kUnimplemented, name);
  }
}

TEST(Load, TypesWithoutKernelsAreNamed) {
  const TinyLlama llama({});
  GgufWriter writer = llama.Settings();
  for (const auto& [name, tensor] : llama.tensors) {
    if (name == "blk.1.ffn_up.weight") {
      writer.Tensor(name, 2, {64, 96}, std::vector<std::byte>(96 * 2 * 18));  // Q4_0
      continue;
    }
    writer.Tensor(name, 0, tensor.dims(), tensor.bytes);
  }
  ExpectRefused(ErrorOf(writer.Write()), StatusCode::kUnimplemented, "blk.1.ffn_up.weight", "Q4_0",
                "not supported yet");
}

TEST(Load, BytesOfAnotherOwnerAreLeftAlone) {
  const std::vector<std::byte> bytes = TinyLlama({}).Write();
  const std::vector<std::byte> before = bytes;
  auto file = Gguf::Parse(bytes);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(Model::Load(*std::move(file), {.kv_memory = 1 << 16}).ok());
  EXPECT_TRUE(bytes == before) << "releasing tensors wiped them";
}

TEST(Load, OptionsOutOfRange) {
  const auto code = [](const Options& options) {
    return Model::Load(OpenBytes(TinyLlama({}).Write()), options).status().code();
  };
  EXPECT_EQ(code({.threads = 0}), StatusCode::kInvalidArgument);
  EXPECT_EQ(code({.page_size = 257}), StatusCode::kInvalidArgument);
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
    return Model::Load(OpenBytes(TinyLlama({}).Write()), {.threads = count});
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
  const TinyLlama llama({.layers = 8, .heads = 8, .kv_heads = 8, .head_dim = 64, .rope_dims = 64});
  const auto model =
      Model::Load(OpenBytes(llama.Write()), {.page_size = 256, .kv_memory = std::int64_t{1} << 50});
  EXPECT_EQ(model.status().code(), StatusCode::kResourceExhausted) << model.status();
}

}  // namespace
}  // namespace banyan::model
