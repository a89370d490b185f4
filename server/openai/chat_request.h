// The body of POST /v1/chat/completions, checked.
// https://platform.openai.com/docs/api-reference/chat/create
#pragma once

#include <cstdint>
#include <string_view>

#include "server/openai/generation.h"
#include "server/openai/result.h"
#include "text/codec.h"

namespace banyan::server::openai {

struct ChatRequest {
  text::Conversation conversation;  // at least one message
  text::AddedTokens added = text::AddedTokens::kAsModelAsks;
  Generation generation;
};

// `model_name` is what the request's "model", where given, must be; token ids are below
// `vocabulary_size`; `now` is for the template. The error is that of the first fault found, with
// its field named.
Result<ChatRequest> ParseChatRequest(std::string_view body, std::string_view model_name,
                                     std::int32_t vocabulary_size, std::int64_t now);

}  // namespace banyan::server::openai
