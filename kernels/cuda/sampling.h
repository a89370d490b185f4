// Drawing tokens on the device, by the specification of docs/sampling.md; every pointer is to the
// device's memory. A row's token depends on its logits and its SampleRow alone.
//
// Weights are those of the CPU's sampler to the bit; sums are of whole multiples of 2^-44 of the
// first token's weight, so that they do not depend on the order of additions. Who sits within that
// rounding of a bound may fall on the other side of it than on the CPU.
#pragma once

#include <cstdint>

#include "kernels/cuda/runtime.h"
#include "kernels/sampling.h"

namespace banyan::kernels::cuda {

// [rows, vocabulary], as the model gave them.
struct LogitRows {
  const float* data = nullptr;
  std::int32_t vocabulary = 0;
};

// SamplingWork's, there.
struct SampleLists {
  const std::uint64_t* masks = nullptr;
  const std::int32_t* forbidden = nullptr;
  const TokenBias* biases = nullptr;
  const TokenUse* uses = nullptr;
};

// tokens[i] answers draw i of `count`; `adjusted` is scratch, [count, vocabulary].
void Sample(Stream stream, const LogitRows& logits, const SampleRow* draws, std::int32_t count,
            const SampleLists& lists, float* adjusted, std::int32_t* tokens);

struct ScoreOutput {
  float* log_probabilities = nullptr;      // [count]
  std::int32_t* top_tokens = nullptr;      // [count, ScoreRow::kMostTop]
  float* top_log_probabilities = nullptr;  // the same
};
// Natural logarithms of probabilities under logits as they are. `drawn` has the answers of draws
// that scores name.
void LogProbabilities(Stream stream, const LogitRows& logits, const ScoreRow* scores,
                      std::int32_t count, const std::int32_t* drawn, const ScoreOutput& out);

}  // namespace banyan::kernels::cuda
