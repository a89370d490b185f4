// Draws the next token from logits.
//
// A draw is a function of (logits, params, position, mask) alone: the random number is that of
// counter (position, choice) under key seed, whatever else was drawn before. Filters apply in this
// order: mask, temperature, top-p.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "model/batch.h"

namespace banyan::model {

// Its members are scratch memory; nothing is remembered between draws. One thread at a time.
class Sampler {
 public:
  explicit Sampler(std::int32_t vocabulary_size);

  struct Draw {
    TokenId token = -1;
    float log_probability = 0;  // under the logits as they came: no mask, no temperature
  };

  // `position` is the one that the drawn token will have. Temperature 0 takes the largest logit,
  // the lowest id among equals. kInternal when a logit is not finite; kInvalidArgument when the
  // mask allows no token.
  absl::StatusOr<Draw> Sample(std::span<const float> logits, const SamplingParams& params,
                              std::int64_t position, std::span<const std::uint64_t> mask);

 private:
  struct Candidate {
    float weight;  // its probability times a constant
    TokenId token;
  };

  std::span<const float> Allowed(std::span<const float> logits,
                                 std::span<const std::uint64_t> mask);
  TokenId DrawByWeight(std::span<const float> logits, float max, const SamplingParams& params,
                       std::int64_t position);
  double KeepNucleus(double total, double top_p);

  std::vector<float> allowed_;   // the logits, -inf where the mask forbids
  std::vector<float> weights_;   // exp((logit - max) / temperature), of each id
  std::vector<Candidate> kept_;  // what top-p kept, most probable first
};

}  // namespace banyan::model
