// Drawing tokens on the device, by the specification of docs/sampling.md; every pointer is to the
// device's memory. A row's token depends on its logits and its SampleRow alone.
//
// Weights are those of the CPU's sampler to the bit; sums are of whole multiples of 2^-44 of the
// first token's weight, so that they do not depend on the order of additions. Who sits within that
// rounding of a bound may fall on the other side of it than on the CPU.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime.h"

namespace banyan::kernels::cuda {

struct TokenBias {
  std::int32_t token = 0;
  float bias = 0;  // finite
};
// A token of prompt or answer, and how often the answer has it.
struct TokenUse {
  std::int32_t token = 0;
  std::int32_t in_answer = 0;
};

// A run of elements of one of SampleLists.
struct ListPart {
  std::int32_t first = 0;
  std::int32_t count = 0;
};

// How one row's token is drawn. Tokens are below the vocabulary's size, and each list names one at
// most once.
struct SampleRow {
  static constexpr std::int32_t kNoMask = -1;

  double uniform = 0;        // the random number, in [0, 1)
  float temperature = 1.0F;  // 0: the first token
  std::int32_t top_k = 0;    // 0: all
  float top_p = 1.0F;        // 0 < top_p <= 1
  float min_p = 0.0F;        // 0..1
  float repetition = 1.0F;   // > 0
  float presence = 0.0F;     // penalties, finite
  float frequency = 0.0F;
  std::int32_t mask = kNoMask;  // its number among SampleLists::masks
  ListPart forbidden{};         // a few
  ListPart biases{};
  ListPart uses{};  // empty where nothing is penalized
};
struct SampleLists {
  const std::uint64_t* masks = nullptr;  // [masks, (vocabulary + 63) / 64]; a set bit allows
  const std::int32_t* forbidden = nullptr;
  const TokenBias* biases = nullptr;
  const TokenUse* uses = nullptr;
};

// What is not a token.
inline constexpr std::int32_t kNotFinite = -1;    // a logit is not
inline constexpr std::int32_t kNoneAllowed = -2;  // all tokens are masked or forbidden

// tokens[i] follows row i of the logits, [count, vocabulary]; `adjusted` is scratch of their size.
void Sample(Stream stream, const float* logits, std::int32_t vocabulary, const SampleRow* rows,
            std::int32_t count, const SampleLists& lists, float* adjusted, std::int32_t* tokens);

struct RankedTokens {
  static constexpr std::int32_t kMost = 20;
  std::int32_t each = 0;               // of a row: 0..kMost, and no more than there are tokens
  std::int32_t* tokens = nullptr;      // [rows, each], the most probable first
  float* log_probabilities = nullptr;  // the same
};
// Natural logarithms of probabilities under logits as they are, which are finite: of one token of
// each row, and of the most probable ones, the lower id first among equals.
void LogProbabilities(Stream stream, const float* logits, std::int32_t vocabulary,
                      const std::int32_t* tokens, std::int32_t count, float* of_tokens,
                      const RankedTokens& top);

}  // namespace banyan::kernels::cuda
