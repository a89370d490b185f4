// The sampling of a step: what is asked goes to the device, and the answers come back together.
//
// Thread safety: one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/device_buffer.h"
#include "kernels/cuda/sampling.h"
#include "kernels/cuda/staging.h"
#include "kernels/sampling.h"

namespace banyan::kernels::cuda {

class StepSampling {
 public:
  explicit StepSampling(Staging& staging) : staging_(staging) {}

  // Room for the answers of steps of so many rows, each of which has a draw and two scores at most,
  // and for work on so many rows of logits at once. Throws std::bad_alloc, as Run does.
  void Reserve(std::int32_t rows, std::int32_t logit_rows, std::int32_t vocabulary);

  void Run(Stream stream, const LogitRows& logits, const SamplingWork& work);
  // Waits for the step's first answers, so many. Valid until the next call.
  Sampled Take(Stream stream, std::int32_t draws, std::int32_t scores);

 private:
  // Parts of a run of memory that has all answers.
  struct Answers {
    std::int32_t* tokens;
    float* log_probabilities;
    std::int32_t* top_tokens;
    float* top_log_probabilities;
  };
  static std::size_t AnswerBytes(std::int64_t rows);
  Answers AnswersIn(void* memory) const;

  Staging& staging_;
  std::int64_t rows_ = 0;
  DeviceBuffer answers_;
  PinnedBuffer taken_;
  // Of the work that runs.
  DeviceBuffer draws_, scores_, masks_, forbidden_, biases_, uses_, adjusted_;
};

}  // namespace banyan::kernels::cuda
