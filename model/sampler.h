// Draws the next token from logits: docs/sampling.md is the specification.
//
// A draw is a function of the logits and of what its Sequence says of it (parameters, context,
// biases, masks) alone: the random number is that of counter (position, choice) under key seed,
// whatever else was drawn before. Filters apply in this order: LogitAdjuster's, temperature, min-p,
// top-k, top-p. The tokens of a row are ordered by their adjusted logits, the lower id first among
// equals.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/ids.h"
#include "model/batch.h"
#include "model/logit_adjuster.h"
#include "model/logit_math.h"

namespace banyan::model {

// What docs/sampling.md calls a programmer's error; LogitAdjuster::Check has the rest.
void CheckParams(const SamplingParams& params);
// The random number of the token that follows the last one of `sequence`.
double UniformOf(const Sequence& sequence);
absl::Status NoTokenMayFollow();

// Its members are scratch memory; nothing is remembered between draws. One thread at a time.
class Sampler {
 public:
  explicit Sampler(std::int32_t vocabulary_size);

  // The token that follows the last one of `sequence`, whose logits these are: finite ones.
  // Temperature 0 takes the first token. kInvalidArgument when every token is masked or forbidden.
  absl::StatusOr<TokenId> Sample(std::span<const float> logits, const Sequence& sequence);

 private:
  // Each sets the weights of the tokens that it drops to 0.
  void KeepMinP(float min_p);
  void KeepTopK(std::span<const float> logits, std::int32_t top_k);
  void KeepTopP(std::span<const float> logits, double top_p);
  void KeepUpTo(std::span<const float> logits, const Ranked& last);
  // The last token of the nucleus: of the candidates, together at least `wanted` heavy, the
  // smallest number of first ones that are.
  Ranked LastOfNucleus(double wanted);
  TokenId DrawByWeight(double uniform);

  LogitAdjuster adjuster_;
  Leaders leaders_;
  std::vector<float> weights_;      // of each id: exp((logit - max) / temperature), or 0
  std::vector<Ranked> candidates_;  // of the nucleus
  std::vector<double> block_sums_;  // of weights_
};

}  // namespace banyan::model
