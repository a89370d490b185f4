// The tokens that a workload's content stands for. They are nobody's words: what matters is which
// prompts begin with the same ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "loadtest/workload/workload.h"

namespace banyan::loadtest {

// Text has a token for so many bytes, which are its id: an approximation of what tokenizers make of
// English. Equal beginnings have equal tokens.
inline constexpr std::size_t kBytesPerToken = 4;
// Answers to turns that leave their length to the server.
inline constexpr std::int64_t kAnswerTokens = 256;

// Token `index` of the segment with that key: 31 bits that nothing but these two determine.
TokenId TokenOf(std::uint64_t key, std::int64_t index);
void AppendTokens(std::uint64_t key, std::int64_t tokens, std::vector<TokenId>& to);

// A segment of less than `least_segment` tokens is made that long.
void AppendTokens(const Message& message, std::int32_t least_segment, std::vector<TokenId>& to);
std::int64_t CountTokens(const Message& message, std::int32_t least_segment);

// The key of an answer's tokens: of the conversation's index in its workload, and of the turn's.
std::uint64_t AnswerKey(std::int64_t conversation, std::int64_t turn);
std::int64_t AnswerTokens(const Turn& turn);

// The prompt of a turn (an index): all messages so far, and the answers between them, of which
// `answers` has the lengths.
std::vector<TokenId> Prompt(const Workload& workload, std::int64_t conversation, std::int64_t turn,
                            std::span<const std::int64_t> answers, std::int32_t least_segment);

}  // namespace banyan::loadtest
