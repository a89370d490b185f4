// Log-probabilities in the two forms that the API has.
// https://platform.openai.com/docs/api-reference/chat/object ("logprobs") and
// https://platform.openai.com/docs/api-reference/completions/object ("logprobs")
#pragma once

#include <span>
#include <string>

#include "server/openai/delta.h"
#include "text/codec.h"

namespace banyan::server::openai {

// What the API says of a token that has no probability to speak of.
inline constexpr float kLeastLogprob = -9999.0F;

// {"content":[{"token","logprob","bytes","top_logprobs"}],"refusal":null}. "bytes" are exact, also
// where they are not whole characters (which "token" replaces by U+FFFD); null of control tokens.
std::string ChatLogprobs(const text::Codec& codec, std::span<const Entry> entries);

// {"tokens","token_logprobs","top_logprobs","text_offset"}: the alternatives by their texts, with
// the token itself among them. Bytes that are not whole characters are spelled "bytes:\xe2\x80".
std::string CompletionLogprobs(const text::Codec& codec, std::span<const Entry> entries);

}  // namespace banyan::server::openai
