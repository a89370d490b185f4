// Steps of a model on a device, whose tokens are drawn there, beside the CPU's sampler on the same
// logits: where a step's logits are returned, the host draws from them.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/cuda/model_rig.h"

namespace banyan::model::testing {
namespace {

using ::testing::HasSubstr;

constexpr int kVocabulary = 100;

// A sequence of a step, with what it views.
struct Asked {
  SamplingParams sampling{};
  int tokens = 1;
  Logits logits = Logits::kSampleLast;
  int scored = 0;
  bool wants_logprob = false;
  std::int32_t top = 0;
  std::vector<TokenBias> biases{};
  std::vector<TokenId> forbidden{};
  std::vector<std::uint64_t> mask{};
};

// A step of prompts, each in pages of its own.
class PromptStep {
 public:
  explicit PromptStep(std::vector<Asked> asked) : asked_(std::move(asked)) {
    Random random(7);
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      std::vector<TokenId>& prompt = prompts_.emplace_back();
      for (int token = 0; token < asked_[i].tokens + 1; ++token)
        prompt.push_back(static_cast<TokenId>(random.Below(kVocabulary)));
      pages_.push_back({static_cast<PageId>(2 * i), static_cast<PageId>(2 * i + 1)});
    }
  }

  // What it is answered; with logits from all that sample, which the host then draws from.
  enum class By : std::uint8_t { kDevice, kHost };
  absl::Status Run(Model& model, By by, StepResult& result) const {
    Batch batch;
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      const Asked& a = asked_[i];
      const std::span<const TokenId> prompt(prompts_[i]);
      const bool returns = by == By::kHost && a.logits == Logits::kSampleLast;
      batch.sequences.push_back(
          {.tokens = prompt.first(static_cast<std::size_t>(a.tokens)),
           .pages = pages_[i],
           .logits = returns ? Logits::kReturnAll : a.logits,
           .sampling = a.sampling,
           .context = prompt.first(a.sampling.penalizes() ? static_cast<std::size_t>(a.tokens) : 0),
           .prompt_tokens = a.sampling.penalizes() ? a.tokens / 2 : 0,
           .logit_bias = a.biases,
           .forbidden = a.forbidden,
           .wants_logprob = a.wants_logprob,
           .top_logprobs = a.top,
           .scored = prompt.subspan(1, static_cast<std::size_t>(a.scored)),
           .token_mask = a.mask});
    }
    return model.Forward(batch, result);
  }

 private:
  std::vector<Asked> asked_;
  std::vector<std::vector<TokenId>> prompts_;
  std::vector<std::vector<PageId>> pages_;
};

void ExpectSame(float got_probability, std::span<const TokenLogprob> got, float probability,
                std::span<const TokenLogprob> expected) {
  EXPECT_NEAR(got_probability, probability, 1e-5F);
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].token, expected[i].token);
    EXPECT_NEAR(got[i].log_probability, expected[i].log_probability, 1e-5F);
  }
}

void ExpectTheHostsAnswers(Model& model, const std::vector<Asked>& asked) {
  const PromptStep step(asked);
  StepResult expected;
  StepResult got;
  ASSERT_TRUE(step.Run(model, PromptStep::By::kHost, expected).ok());
  ASSERT_TRUE(step.Run(model, PromptStep::By::kDevice, got).ok());
  for (std::size_t i = 0; i < asked.size(); ++i) {
    SCOPED_TRACE("sequence " + std::to_string(i));
    const SequenceResult& ours = got.sequences[i];
    const SequenceResult& hosts = expected.sequences[i];
    EXPECT_EQ(ours.token, hosts.token);
    EXPECT_EQ(ours.token >= 0, asked[i].logits != Logits::kNone);
    EXPECT_TRUE(ours.logits.empty());
    ExpectSame(ours.log_probability, ours.top, hosts.log_probability, hosts.top);
    ASSERT_EQ(ours.scores.size(), hosts.scores.size());
    for (std::size_t n = 0; n < ours.scores.size(); ++n) {
      EXPECT_EQ(ours.scores[n].token, hosts.scores[n].token);
      ExpectSame(ours.scores[n].log_probability, ours.scores[n].top,
                 hosts.scores[n].log_probability, hosts.scores[n].top);
    }
  }
}

std::unique_ptr<Model> LoadDevice() {
  Options options = OptionsOf(Backend::kCuda);
  options.max_batch_tokens = 256;  // of logit rows 64 at a time
  return Load({}, options);
}

SamplingParams Seeded(SamplingParams params, int seed) {
  params.seed = static_cast<std::uint64_t>(seed);
  params.choice = static_cast<std::uint32_t>(seed % 3);
  return params;
}

TEST(ModelSampling, GivesTheHostsTokensOfTheSameLogits) {
  const std::vector<SamplingParams> kinds = {
      {.temperature = 0},
      {.temperature = 1},
      {.temperature = 1.5F, .top_k = 7},
      {.temperature = 1, .top_p = 0.8F},
      {.temperature = 2, .min_p = 0.05F},
      {.temperature = 0.7F, .top_k = 40, .top_p = 0.9F, .min_p = 0.02F},
      {.temperature = 0, .repetition_penalty = 1.5F, .frequency_penalty = 1.5F},
      {.temperature = 1, .repetition_penalty = 1.2F, .presence_penalty = 1.5F}};
  std::vector<Asked> asked;
  for (int i = 0; i < 24; ++i) {
    Asked a{.sampling = Seeded(kinds[static_cast<std::size_t>(i) % kinds.size()], i),
            .tokens = 1 + i % 6};
    a.wants_logprob = i % 3 == 1;
    a.top = i % 6 == 4 ? 5 : 0;
    if (i % 4 == 1) a.biases = {{5, 3.0F}, {64, -2.0F}, {static_cast<TokenId>(i), 1.0F}};
    if (i % 5 == 2) a.forbidden = {3, 60, 99, kVocabulary + 7};
    if (i % 5 == 3) a.mask = {~std::uint64_t{0} << i, 0x5a5a5a5aU};
    asked.push_back(a);
  }
  const std::unique_ptr<Model> device = LoadDevice();
  ASSERT_NE(device, nullptr);
  ExpectTheHostsAnswers(*device, asked);
}

// More rows than are answered at once, and sequences that ask for nothing between them.
TEST(ModelSampling, AnswersGoToWhoAsked) {
  std::vector<Asked> asked;
  for (int i = 0; i < 80; ++i) {
    Asked a{.sampling = Seeded({.temperature = i % 2 == 0 ? 0.0F : 1.0F}, i)};
    if (i % 7 == 3) a.logits = Logits::kNone;
    if (i % 10 == 5) {  // a prompt that is scored, to its last token or not
      a.tokens = 9;
      a.scored = i % 20 == 5 ? 9 : 6;
      a.wants_logprob = true;
      a.top = i % 30 == 5 ? 20 : 3;
    }
    asked.push_back(a);
  }
  const std::unique_ptr<Model> device = LoadDevice();
  ASSERT_NE(device, nullptr);
  ExpectTheHostsAnswers(*device, asked);
}

// As on the CPU the step fails and says whose row it was; the next one is answered.
TEST(ModelSampling, ARowWithoutAnswerFailsTheStep) {
  const std::unique_ptr<Model> device = LoadDevice();
  ASSERT_NE(device, nullptr);
  std::vector<Asked> asked(3);
  asked[1].mask = {0, 0};
  for (const auto by : {PromptStep::By::kDevice, PromptStep::By::kHost}) {
    StepResult result;
    const absl::Status none = PromptStep(asked).Run(*device, by, result);
    EXPECT_EQ(none.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(none.message()), HasSubstr("sequence 1: no token may follow"));
    EXPECT_TRUE(result.failed);
  }
  asked[1].mask = {0, 2};
  StepResult result;
  EXPECT_TRUE(PromptStep(asked).Run(*device, PromptStep::By::kDevice, result).ok());
  EXPECT_EQ(result.sequences[1].token, 65);
}

TEST(ModelSampling, LogitsThatAreNotFiniteFailTheStep) {
  TinyModel tiny({});
  TinyTensor& norm = tiny.tensors.at("output_norm.weight");
  const float infinite = std::numeric_limits<float>::infinity();
  std::memcpy(norm.bytes.data(), &infinite, sizeof infinite);
  auto device = Model::Load(OpenBytes(tiny.Write()), OptionsOf(Backend::kCuda));
  ASSERT_TRUE(device.ok()) << device.status();
  std::vector<Asked> samples(2);
  std::vector<Asked> scores = {{.tokens = 3, .logits = Logits::kNone, .scored = 2}};
  for (const std::vector<Asked>& asked : {samples, scores}) {
    for (const auto by : {PromptStep::By::kDevice, PromptStep::By::kHost}) {
      StepResult result;
      const absl::Status status = PromptStep(asked).Run(**device, by, result);
      EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
      EXPECT_THAT(std::string(status.message()),
                  HasSubstr("sequence 0: a logit is not a finite number"));
    }
  }
}

}  // namespace
}  // namespace banyan::model::testing
