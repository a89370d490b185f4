// The formats of the two routes that answer with text.
#pragma once

#include <cstdint>
#include <memory>

#include "server/openai/format.h"
#include "text/codec.h"

namespace banyan::server::openai {

struct FormatOptions {
  UsageChunk usage = UsageChunk::kNone;
  enum class Logprobs : std::uint8_t { kNone, kWanted } logprobs = Logprobs::kNone;
};

// https://platform.openai.com/docs/api-reference/chat/object and .../chat/streaming; reasoning is
// "reasoning_content" of the message or delta. One choice. `codec` outlives the format.
std::unique_ptr<const Format> ChatFormat(AnswerHead head, const text::Codec& codec,
                                         const FormatOptions& options);

// https://platform.openai.com/docs/api-reference/completions/object. `codec` outlives the format.
std::unique_ptr<const Format> CompletionFormat(AnswerHead head, const text::Codec& codec,
                                               const FormatOptions& options);

}  // namespace banyan::server::openai
