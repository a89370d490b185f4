// What `banyan plan` reads in a GGUF file: the facts that a server of that file would state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

#include "model/model.h"
#include "server/plan/plan.h"
#include "server/plan/subject.h"
#include "tests/model/gguf_writer.h"
#include "tests/model/tiny_model.h"

namespace banyan::server {
namespace {

using model::GgufWriter;
using model::TinyModel;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string Written(const std::vector<std::byte>& bytes) {
  const std::string path = ::testing::TempDir() + "/plan_gguf_test.gguf";
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  return path;
}

Subject SubjectOf(const std::vector<std::byte>& bytes) {
  const absl::StatusOr<Subject> subject = ReadSubject(Written(bytes));
  EXPECT_TRUE(subject.ok()) << subject.status();
  return subject.value_or(Subject());
}

TEST(PlanOfGguf, IsWhatALoadedModelAllocates) {
  constexpr std::int64_t kMemory = 200'000;
  constexpr std::int32_t kRunning = 3;
  for (const std::string family : {"gemma3", "llama", "qwen2", "qwen3"}) {
    const TinyModel tiny(
        {.family = family, .layers = 3, .head_dim = 32, .rope_dims = 32, .tied_head = true});
    const Subject subject = SubjectOf(tiny.Write());
    EXPECT_EQ(subject.problem, "");
    EXPECT_EQ(subject.heads, 4);
    EXPECT_EQ(AttentionOf(subject), "GQA");
    for (const int page_size : {1, 16, 33}) {
      const auto plan = MakePlan(
          subject, {.page_size = page_size, .max_running = kRunning, .kv_memory = kMemory});
      ASSERT_TRUE(plan.ok()) << plan.status();
      for (const FormatPlan& planned : plan->formats) {
        const auto loaded =
            model::Model::Load(model::OpenBytes(tiny.Write()), {.page_size = page_size,
                                                                .kv_memory = kMemory,
                                                                .kv_format = planned.format,
                                                                .max_sequences = kRunning});
        ASSERT_TRUE(loaded.ok()) << loaded.status();
        const model::Facts& facts = (*loaded)->facts();
        EXPECT_EQ(planned.bytes_per_token, facts.kv_bytes_per_token) << planned.name;
        EXPECT_EQ(planned.page_bytes, static_cast<std::int64_t>((*loaded)->page_bytes()));
        EXPECT_EQ(planned.open_bytes, facts.kv_open_bytes);
        EXPECT_EQ(planned.capacity->pages, (*loaded)->pages());
        EXPECT_EQ(subject.context_length, facts.context_length);
        EXPECT_EQ(subject.parameters, facts.parameters);
      }
    }
  }
}

TEST(PlanOfGguf, KnowsWhichLayersSeeAWindow) {
  EXPECT_THAT(SubjectOf(TinyModel({.layers = 2, .window = 24}).Write()).shape.windows,
              ElementsAre(24, 24));
  EXPECT_THAT(
      SubjectOf(
          TinyModel({.family = "gemma3", .layers = 5, .window = 24, .global_every = 2}).Write())
          .shape.windows,
      ElementsAre(24, 0, 24, 0, 24));
  EXPECT_EQ(SubjectOf(TinyModel({.layers = 2}).Write()).shape.windowed_layers(), 0);
}

GgufWriter DeepSeek() {
  GgufWriter writer;
  writer.String("general.architecture", "deepseek2").String("general.name", "A name");
  writer.Uint32("deepseek2.block_count", 61).Uint32("deepseek2.attention.head_count", 128);
  writer.Uint32("deepseek2.attention.key_length", 192);
  writer.Uint32("deepseek2.attention.kv_lora_rank", 512);
  writer.Uint32("deepseek2.rope.dimension_count", 64);
  return writer;
}

// A plan is made for files that do not run too, and says so.
TEST(PlanOfGguf, KnowsLatents) {
  const Subject subject = SubjectOf(DeepSeek().Write());
  ASSERT_TRUE(subject.shape.latent.has_value());
  const auto plan = MakePlan(subject, {});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->formats.front().bytes_per_token, 70'272);
  EXPECT_EQ(AttentionOf(subject), "MLA");
  EXPECT_THAT(subject.problem, HasSubstr("'deepseek2'"));
  EXPECT_THAT(subject.shape.windows, IsEmpty());
}

TEST(PlanOfGguf, AFileThatDoesNotTellItsShapeIsRefused) {
  GgufWriter writer;
  writer.String("general.architecture", "mamba").Uint32("mamba.block_count", 3);
  const auto refused = ReadSubject(Written(writer.Write()));
  EXPECT_EQ(refused.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(refused.status().message()), HasSubstr("KV heads is 0 or not told"));
}

}  // namespace
}  // namespace banyan::server
