// Passkey retrieval: a number hidden in a text that repeats itself, asked for at the end of it.
// Mohtashami and Jaggi, "Landmark attention: random-access infinite context length for
// transformers", 2023.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "base/ids.h"
#include "server/eval/measure.h"
#include "text/codec.h"

namespace banyan::server {

// Where the key is, in percent of the text before the question.
inline constexpr std::array kPasskeyDepths = {0, 25, 50, 75, 100};
// Texts shorter than this hold no more than key and question.
inline constexpr std::int64_t kMinPasskeyTokens = 128;

struct PasskeyPrompt {
  std::int64_t length = 0;  // at most, with the answer; tokens
  int depth = 0;            // one of kPasskeyDepths
  std::string key;          // five digits
  std::vector<TokenId> tokens{};
  std::int64_t answer_tokens = 0;  // to be drawn
};

// A quarter, a half and the whole of `context`, without those under kMinPasskeyTokens.
std::vector<std::int64_t> PasskeyLengths(std::int64_t context);

// For each length and depth `keys` prompts with different keys, which are the same on every
// machine. Errors are the codec's.
absl::StatusOr<std::vector<PasskeyPrompt>> PasskeyPrompts(const text::Codec& codec,
                                                          std::span<const std::int64_t> lengths,
                                                          int keys);

// How many keys were found of those at one length and depth.
struct PasskeyResult {
  std::int64_t length = 0;
  int depth = 0;
  int asked = 0;
  int found = 0;
};

// Whether an answer gives the key: its first digits are the key's.
bool GivesKey(std::string_view answer, std::string_view key);

// Answers each prompt greedily. In the order of the prompts, one result for each length and depth.
// Errors are the model's.
absl::StatusOr<std::vector<PasskeyResult>> RetrievePasskeys(std::span<const PasskeyPrompt> prompts,
                                                            const text::Codec& codec,
                                                            EvaluatedModel subject,
                                                            const Progress& progress);

}  // namespace banyan::server
