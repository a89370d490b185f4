// How a route words what its exchange brings: the JSON of answers and of a stream's events.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "scheduler/token_stream.h"
#include "server/openai/delta.h"

namespace banyan::server::openai {

// What all events of one answer have in common.
struct AnswerHead {
  std::string id;
  std::int64_t created = 0;  // seconds since 1970
  std::string model;
};

// Of all choices together.
struct TotalUsage {
  std::int64_t prompt_tokens = 0;
  std::int64_t cached_tokens = 0;
  std::int64_t output_tokens = 0;
  std::optional<std::int64_t> reasoning_tokens;  // of models that mark their reasoning
  // Of those with a policy; kept_tokens is 0 where none has one.
  std::int64_t kept_tokens = 0;
  std::int64_t dropped_tokens = 0;
  std::int64_t unread_tokens = 0;
};

// A choice that is complete.
struct Outcome {
  Delta all;
  std::string_view finish_reason;
};

enum class UsageChunk : std::uint8_t { kNone, kLast };  // kLast: the others say "usage":null

// The last event of a stream that ended well.
inline constexpr std::string_view kDone = "[DONE]";

class Format {
 public:
  virtual ~Format() = default;

  virtual std::string Whole(std::span<const Outcome> choices, const TotalUsage& usage) const = 0;

  // The event that a stream begins with, or nothing.
  virtual std::optional<std::string> Opening() const = 0;
  virtual std::string Chunk(std::size_t choice, const Delta& delta) const = 0;
  virtual std::string Finish(std::size_t choice, std::string_view finish_reason) const = 0;
  // Nothing unless the client asked for it.
  virtual std::optional<std::string> Usage(const TotalUsage& usage) const = 0;
};

}  // namespace banyan::server::openai
