// The JSON that answers are made of.
// https://platform.openai.com/docs/api-reference/chat/object and .../chat/streaming
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "scheduler/token_stream.h"

namespace banyan::server::openai {

// What all chunks of one answer have in common.
struct AnswerHead {
  std::string id;
  std::int64_t created = 0;  // seconds since 1970
  std::string model;
};

enum class UsageChunk : std::uint8_t { kNone, kLast };  // kLast: the others say "usage":null

std::string CompletionJson(const AnswerHead& head, std::string_view text,
                           std::string_view finish_reason, const scheduler::Usage& usage);

std::string RoleChunkJson(const AnswerHead& head, UsageChunk usage);
std::string TextChunkJson(const AnswerHead& head, UsageChunk usage, std::string_view text);
std::string FinishChunkJson(const AnswerHead& head, UsageChunk usage,
                            std::string_view finish_reason);
std::string UsageChunkJson(const AnswerHead& head, const scheduler::Usage& usage);

inline constexpr std::string_view kDone = "[DONE]";

}  // namespace banyan::server::openai
