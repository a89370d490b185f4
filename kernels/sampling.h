// What is asked of rows of logits where a backend samples by itself (SamplingBackend): draws, by
// the specification of docs/sampling.md, and log-probabilities. Answers are numbered: those of a
// call follow first_draw and first_score.
#pragma once

#include <cstdint>
#include <span>

namespace banyan::kernels {

struct TokenBias {
  std::int32_t token = -1;
  float bias = 0;  // added to its logit; finite
};
// A token of prompt or answer, and how often the answer has it.
struct TokenUse {
  std::int32_t token = 0;
  std::int32_t in_answer = 0;
};

// A run of elements of one of SamplingWork's lists.
struct ListPart {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

// How the token that follows a row is drawn. Each list names a token at most once.
struct SampleRow {
  static constexpr std::int32_t kNoMask = -1;

  double uniform = 0;        // the random number, in [0, 1)
  std::int32_t row = 0;      // of the logits
  float temperature = 1.0F;  // 0: the first token
  std::int32_t top_k = 0;    // 0: all
  float top_p = 1.0F;        // 0 < top_p <= 1
  float min_p = 0.0F;        // 0..1
  float repetition = 1.0F;   // > 0
  float presence = 0.0F;     // penalties, finite
  float frequency = 0.0F;
  std::int32_t mask = kNoMask;  // its number among the masks
  ListPart forbidden{};         // a few
  ListPart biases{};
  ListPart uses{};  // empty where nothing is penalized
};

// A token whose log-probability under a row is wanted.
struct ScoreRow {
  static constexpr std::int32_t kMostTop = 20;

  std::int32_t row = 0;    // of the logits
  std::int32_t token = 0;  // ~i: the one that answers draw i of the call
  std::int32_t top = 0;    // of how many most probable ones too; no more than there are tokens
};

// Tokens in lists are below the vocabulary's size, but for forbidden ones.
struct SamplingWork {
  std::span<const SampleRow> draws{};
  std::span<const ScoreRow> scores{};
  std::int32_t first_draw = 0;  // of the step
  std::int32_t first_score = 0;
  std::span<const std::uint64_t> masks{};  // [masks, (vocabulary + 63) / 64]; a set bit allows
  std::span<const std::int32_t> forbidden{};
  std::span<const TokenBias> biases{};
  std::span<const TokenUse> uses{};
};

// What a draw gives where that is no token.
inline constexpr std::int32_t kNotFinite = -1;    // a logit is not
inline constexpr std::int32_t kNoneAllowed = -2;  // all tokens are masked or forbidden

// The answers of a step.
struct Sampled {
  std::span<const std::int32_t> tokens{};  // of draws
  // Of scores; infinite where a logit is not finite, or the draw gave no token.
  std::span<const float> log_probabilities{};
  // [scores, kMostTop], of which as many as asked for, the most probable first and of equals the
  // lower id.
  std::span<const std::int32_t> top_tokens{};
  std::span<const float> top_log_probabilities{};
};

}  // namespace banyan::kernels
