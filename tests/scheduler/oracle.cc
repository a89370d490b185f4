#include "tests/scheduler/oracle.h"

#include <algorithm>

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
                const std::vector<TokenId>& end_tokens) {
  Oracle oracle;
  std::vector<TokenId> path = prompt;
  while (oracle.reason == FinishReason::kNone) {
    const TokenId token = FakeModel::TokenAfter(path);
    ++oracle.sampled;
    if (std::binary_search(end_tokens.begin(), end_tokens.end(), token)) {
      oracle.reason = FinishReason::kStop;
      break;
    }
    oracle.tokens.push_back(token);
    path.push_back(token);
    if (oracle.sampled == max_output) oracle.reason = FinishReason::kLength;
  }
  return oracle;
}

}  // namespace banyan::scheduler
