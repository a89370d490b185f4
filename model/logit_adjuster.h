// What a request changes about the logits before its token is chosen.
//
// In this order: token mask and forbidden tokens, which no later step brings back; logit bias;
// repetition penalty; frequency and presence penalty (docs/sampling.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "kernels/sampling.h"
#include "model/batch.h"
#include "model/token_uses.h"

namespace banyan::model {

// Its members are scratch memory; nothing is remembered between rows. One thread at a time.
class LogitAdjuster {
 public:
  explicit LogitAdjuster(std::int32_t vocabulary_size);

  // That of mask, biases and penalties each is what a Sequence may have.
  static void Check(const Sequence& sequence, std::int32_t vocabulary_size);

  // The logits as `sequence` wants them, minus infinity where a token must not be drawn and finite
  // elsewhere; `logits` itself, which is finite, when there is nothing to change. Valid until the
  // next call. O(vocabulary + context), and only O(context) on top of a copy for the penalties.
  std::span<const float> Adjust(std::span<const float> logits, const Sequence& sequence);

 private:
  void Mask(std::span<const std::uint64_t> mask);
  void Penalize(const Sequence& sequence);

  std::vector<float> adjusted_;
  TokenUses token_uses_;
  std::vector<kernels::TokenUse> uses_;
};

}  // namespace banyan::model
