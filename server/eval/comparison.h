// Two models' logits side by side, token by token and over a text.
//
// Pure functions of what was added; natural logarithms (nats).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"

namespace banyan::server {

// At one place of a text.
struct TokenComparison {
  double exact_surprise = 0;  // -log probability of the token that follows
  double surprise = 0;
  double divergence = 0;     // Kullback and Leibler's, of the other from the exact distribution
  bool same_greedy = false;  // the token of the greatest logit, the first of equals
};

// `exact` and `other`: the logits of the same place, as many, finite; `next` follows in the text.
TokenComparison CompareLogits(std::span<const float> exact, std::span<const float> other,
                              TokenId next);

// Of a whole text. Errors are standard errors that take the places as independent.
struct Quality {
  std::int64_t tokens = 0;
  double exact_perplexity = 0;
  double perplexity = 0;  // exp of the mean surprise
  double perplexity_error = 0;
  double ratio = 1;        // to the exact perplexity
  double ratio_error = 0;  // from differences at the same place, so much less than that of either
  double mean_divergence = 0;
  double p99_divergence = 0;    // 99 of 100 places have at most this
  double greedy_agreement = 1;  // the share of places with same_greedy
};

class Comparison {
 public:
  void Add(const TokenComparison& token) { tokens_.push_back(token); }
  Quality Summary() const;  // at least one was added

 private:
  std::vector<TokenComparison> tokens_;
};

}  // namespace banyan::server
