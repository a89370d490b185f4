// Text to token ids, with the errors that a client is told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/ids.h"
#include "server/openai/result.h"
#include "server/service.h"
#include "text/codec.h"
#include "text/stream.h"

namespace banyan::server::openai {

// The rooms below begin their messages in lower case and without a full stop.
std::string Sentence(absl::string_view message);

// 400 context_length_exceeded.
http::Error TooLong(std::string_view field, std::string message);

struct ChatPrompt {
  std::vector<TokenId> tokens;  // at least one
  // Of models that mark their reasoning: whether the answer begins within it.
  text::ReasoningSplitter::Start start = text::ReasoningSplitter::Start::kAnswer;
};

// The chat template over the conversation, encoded. 400 with the template's own words when it
// raises an exception; context_length_exceeded, before any work is done on them, when its messages
// have more bytes than `most_tokens` tokens can stand for.
Result<ChatPrompt> EncodeChat(const ServedModel& model, const text::Conversation& conversation,
                              text::AddedTokens added, std::int64_t most_tokens);

// A text by itself, which may come to no tokens. `field` gave it.
Result<std::vector<TokenId>> EncodeText(const ServedModel& model, std::string_view text,
                                        text::ControlTokens control, text::AddedTokens added,
                                        std::string_view field, std::int64_t most_tokens);

}  // namespace banyan::server::openai
