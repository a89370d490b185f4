#include "tests/sim/path.h"

#include <algorithm>
#include <bit>

namespace banyan::sim {
namespace {

// Not the logarithm of anything, but another number for every path and token.
float LogProbability(std::uint64_t sum, TokenId token) {
  return -static_cast<float>(Mix(sum ^ static_cast<std::uint64_t>(token)) % 1'000'000);
}

std::uint64_t Fold(std::uint64_t sum, float value) {
  return Mix(sum ^ std::bit_cast<std::uint32_t>(value));
}

std::uint64_t Fold(std::uint64_t sum, std::uint64_t value) { return Mix(sum ^ Mix(value)); }

// Only the parameters that a request of the simulation sets.
std::uint64_t KeyOf(std::uint64_t sum, const Question& question) {
  sum = Fold(sum, question.sampling.temperature);
  sum = Fold(sum, question.sampling.repetition_penalty);
  sum = Fold(sum, question.sampling.seed);
  sum = Fold(sum, std::uint64_t{question.sampling.choice});
  for (const TokenBias& bias : question.logit_bias) {
    sum = Fold(Fold(sum, static_cast<std::uint64_t>(bias.token)), bias.bias);
  }
  if (!question.sampling.penalizes()) return sum;
  sum = Fold(sum, static_cast<std::uint64_t>(question.prompt_tokens));
  for (const TokenId token : question.context) sum = Fold(sum, static_cast<std::uint64_t>(token));
  return sum;
}

}  // namespace

ScoredToken Draw(std::uint64_t sum, const Question& question) {
  auto token = static_cast<TokenId>(KeyOf(sum, question) % kVocabulary);
  const auto forbidden = question.forbidden;
  while (std::find(forbidden.begin(), forbidden.end(), token) != forbidden.end()) {
    token = (token + 1) % kVocabulary;
  }
  return Score(sum, token, question.top_logprobs);
}

ScoredToken Score(std::uint64_t sum, TokenId token, std::int32_t top_logprobs) {
  ScoredToken scored{token, LogProbability(sum, token), {}};
  for (std::int32_t i = 0; i < top_logprobs; ++i) {
    const auto other =
        static_cast<TokenId>((sum + static_cast<std::uint64_t>(i)) % std::uint64_t{kVocabulary});
    scored.top.push_back({other, LogProbability(sum, other)});
  }
  return scored;
}

bool Same(const ScoredToken& a, const ScoredToken& b) {
  return a.token == b.token && a.log_probability == b.log_probability &&
         std::equal(a.top.begin(), a.top.end(), b.top.begin(), b.top.end(),
                    [](const TokenLogprob& x, const TokenLogprob& y) {
                      return x.token == y.token && x.log_probability == y.log_probability;
                    });
}

}  // namespace banyan::sim
