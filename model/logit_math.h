// Arithmetic over one row of logits or weights. The same bits on every machine: plain arithmetic in
// a fixed order, and no library's exp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace banyan::model {

bool AllFinite(std::span<const float> values);

// The largest value; minus infinity when there is none.
float Max(std::span<const float> values);

double Sum(std::span<const float> values);

// out[i] = exp((logits[i] - max) / temperature) for a finite max that no logit exceeds, within 3
// units in the last place; it may be 0 where that is below the smallest normal float. out may be
// larger.
void Weigh(std::span<const float> logits, float max, float temperature, std::span<float> out);

// The sum of exp(logits[i] - max), for a finite max that no logit exceeds.
double SumOfExp(std::span<const float> logits, float max);

// A token at its place in the order of a row: the larger logit first, the lower id among equals.
struct Ranked {
  float logit = 0;
  TokenId token = -1;

  bool operator<(const Ranked& other) const {
    return logit != other.logit ? logit > other.logit : token < other.token;
  }
};

// Finds the first tokens of a row in that order without sorting it: O(logits) on average.
class Leaders {
 public:
  // The first `count` >= 1 of the tokens with weights[i] > 0, or of all where `weights` is empty;
  // fewer when there are fewer. In no order, but the last of them comes last. Valid until the next
  // call; the caller may reorder them.
  std::span<Ranked> Find(std::span<const float> logits, std::span<const float> weights,
                         std::size_t count);

 private:
  void Keep(std::size_t count);

  std::vector<Ranked> best_;
};

}  // namespace banyan::model
