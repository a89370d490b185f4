#include "tests/scheduler/oracle.h"

#include <algorithm>
#include <span>

#include <gtest/gtest.h>

#include "tests/scheduler/fake_model.h"

namespace banyan::scheduler {

std::vector<TokenId> Prompt(int which, std::size_t length) {
  std::vector<TokenId> prompt;
  std::uint32_t x = static_cast<std::uint32_t>(which) * 2654435761U + 1;
  for (std::size_t i = 0; i < length; ++i) {
    x = x * 1664525U + 1013904223U;
    prompt.push_back(static_cast<TokenId>((x >> 16) % FakeModel::kVocabulary));
  }
  if (length > 0) prompt[0] = which % FakeModel::kVocabulary;
  return prompt;
}

std::vector<TokenId> Join(std::vector<TokenId> head, const std::vector<TokenId>& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

Oracle Expected(const std::vector<TokenId>& prompt, std::int64_t max_output,
                const std::vector<TokenId>& end_tokens, std::int64_t min_tokens,
                kernels::KeyWindow window) {
  Oracle oracle;
  std::vector<TokenId> path = prompt;
  while (oracle.reason == FinishReason::kNone) {
    if (oracle.sampled == max_output) {
      oracle.reason = FinishReason::kLength;
      break;
    }
    const bool early = oracle.sampled < min_tokens;
    const TokenId token =
        FakeModel::TokenAfter(path, early ? end_tokens : std::vector<TokenId>(), window);
    ++oracle.sampled;
    if (std::find(end_tokens.begin(), end_tokens.end(), token) != end_tokens.end()) {
      oracle.reason = FinishReason::kStop;
      break;
    }
    oracle.tokens.push_back(token);
    path.push_back(token);
  }
  return oracle;
}

std::vector<ScoredToken> ExpectedScores(const std::vector<TokenId>& path, std::size_t from,
                                        std::int32_t top, kernels::KeyWindow window) {
  std::vector<ScoredToken> scores;
  for (std::size_t i = from; i < path.size(); ++i) {
    scores.push_back(FakeModel::ScoreAfter(std::span(path).first(i), path[i], top, window));
  }
  return scores;
}

void ExpectSame(const std::vector<ScoredToken>& got, const std::vector<ScoredToken>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(got[i].token, want[i].token) << i;
    EXPECT_EQ(got[i].log_probability, want[i].log_probability) << i;
    ASSERT_EQ(got[i].top.size(), want[i].top.size()) << i;
    for (std::size_t j = 0; j < got[i].top.size(); ++j) {
      EXPECT_EQ(got[i].top[j].token, want[i].top[j].token) << i << ", " << j;
      EXPECT_EQ(got[i].top[j].log_probability, want[i].top[j].log_probability) << i << ", " << j;
    }
  }
}

}  // namespace banyan::scheduler
