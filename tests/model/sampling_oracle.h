// What sampling must do, computed the plain way: in double, with a full sort.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "model/batch.h"

namespace banyan::model {

// What a draw is asked for, with memory of its own.
struct Drawing {
  SamplingParams sampling{};
  std::vector<TokenId> prompt{};
  std::vector<TokenId> answer{};
  std::vector<TokenBias> logit_bias{};
  std::vector<TokenId> forbidden{};
  std::vector<std::uint64_t> token_mask{};
  std::vector<TokenId> context{};  // filled by At

  // For the token at `position`; valid as long as the Drawing, until it changes.
  Sequence At(std::int64_t position);
};

// The probability of each token, exactly 0 where it may not be drawn.
std::vector<double> ExactProbabilities(std::span<const float> logits, const Drawing& drawing);

// A spread like that of a model's logits, without a library's generator: those differ.
std::vector<float> SomeLogits(std::size_t size, float scale);

inline constexpr int kDraws = 25000;

// Pearson's statistic of kDraws draws against `expected`. A token whose probability is 0 must never
// be drawn, and none may be too rare for the statistic to hold.
struct ChiSquare {
  double statistic = 0;
  int degrees = -1;
};
ChiSquare Compare(const std::map<TokenId, int>& counts, const std::vector<double>& expected);
// 99.9% of the statistic lies below (Wilson & Hilferty, 1931).
double Bound(int degrees);

}  // namespace banyan::model
