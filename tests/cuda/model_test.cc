// Whole models on the CUDA backend beside the CPU's.
//
// The CPU reads weights of floats as they are; a device reads weights and the inputs of products in
// bfloat16, 2^-9 of a value off, through a dozen products one after the other.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/cuda/model_rig.h"

namespace banyan::model::testing {
namespace {

using kernels::DType;
using kernels::KvFormat;

// Of a prompt of 40 tokens, by the end of which a page has been dropped.
constexpr kernels::KeyWindow kStreaming = {.window = 10, .sinks = 3};

struct Case {
  const char* name;
  TinyOptions tiny{};
  Nearness nearness{};
};

class Beside : public ::testing::TestWithParam<Case> {};

TEST_P(Beside, TheCpuTheLogitsAreNearAndTheTokensTheSame) {
  ExpectNearTheCpu(GetParam().tiny, GetParam().nearness);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Beside,
    ::testing::Values(
        Case{"Llama", {}}, Case{"LlamaOfBf16", {.type = DType::kBF16}},
        Case{"LlamaInt8Pages", {}, {KvFormat::kInt8, 0.25, 3}},
        Case{"LlamaFp8Pages", {}, {KvFormat::kFp8, 0.2, 3}},
        Case{"LlamaBf16Pages", {}, {KvFormat::kBf16}},
        Case{"LlamaInt4Pages", {.head_dim = 32, .rope_dims = 32}, {KvFormat::kInt4, 0.4, 1}},
        Case{"LlamaStreaming", {}, {.window = kStreaming}},
        Case{"LlamaInt8Streaming", {}, {KvFormat::kInt8, 0.25, 3, kStreaming}},
        Case{"SmolLm2",
             {.heads = 9, .kv_heads = 3, .head_dim = 64, .rope_dims = 64, .tied_head = true}},
        Case{"Qwen2", {.family = "qwen2"}}, Case{"Qwen3", {.family = "qwen3"}},
        Case{"Gemma3",
             {.family = "gemma3",
              .layers = 7,
              .heads = 4,
              .kv_heads = 1,
              .head_dim = 256,
              .rope_dims = 256,
              .rope_base = 1000000,
              .tied_head = true,
              .window = 24}}),
    [](const auto& test) { return std::string(test.param.name); });

// The stand-in for cuBLASLt sums rows one by one: what this holds is the kernels, and that products
// of as many rows as buffers have stay within them.
TEST(CudaModel, DeterministicLogitsAreTheSameBitsInAnyChunks) {
  Options options = OptionsOf(Backend::kCuda);
  options.deterministic = true;
  const std::unique_ptr<Model> device = Load({}, options);
  ASSERT_NE(device, nullptr);
  const std::vector<TokenId> tokens = Prompt(100);
  const std::vector<float> whole = LogitsInChunks(*device, tokens, tokens.size(), Table(2));
  for (const std::size_t chunk : {1, 7, 16})
    EXPECT_EQ(LogitsInChunks(*device, tokens, chunk, Table(20)), whole) << chunk;
}

TEST(CudaModel, StreamingLogitsDependOnWhatIsSeenAndNotOnChunks) {
  const std::unique_ptr<Model> device = Load({}, OptionsOf(Backend::kCuda));
  ASSERT_NE(device, nullptr);
  const std::vector<TokenId> tokens = Prompt(100);
  const auto in_chunks = [&](std::size_t chunk, const kernels::KeyWindow& window) {
    return LogitsInChunks(*device, tokens, chunk, Table(2), window);
  };
  const std::vector<float> whole = in_chunks(tokens.size(), kStreaming);
  EXPECT_EQ(in_chunks(1, kStreaming), whole);
  EXPECT_EQ(in_chunks(7, kStreaming), whole);
  EXPECT_NE(in_chunks(7, {.window = 13}), whole);
  EXPECT_NE(in_chunks(7, {}), whole);
}

}  // namespace
}  // namespace banyan::model::testing
