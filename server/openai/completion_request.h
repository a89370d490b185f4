// The body of POST /v1/completions, checked.
// https://platform.openai.com/docs/api-reference/completions/create
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "server/openai/generation.h"
#include "server/openai/result.h"
#include "text/codec.h"

namespace banyan::server::openai {

inline constexpr std::size_t kMaxPrompts = 128;
inline constexpr std::int64_t kDefaultCompletionTokens = 16;

struct CompletionRequest {
  struct Prompt {
    std::string field;  // "prompt", or "prompt[3]" of several
    std::variant<std::string, std::vector<TokenId>> given;
  };
  std::vector<Prompt> prompts;  // 1 to kMaxPrompts
  text::AddedTokens added = text::AddedTokens::kAsModelAsks;
  bool echo = false;  // the prompt is part of the answer's text
  Generation generation;
};

// As ParseChatRequest.
Result<CompletionRequest> ParseCompletionRequest(std::string_view body, std::string_view model_name,
                                                 std::int32_t vocabulary_size);

}  // namespace banyan::server::openai
