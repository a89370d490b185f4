// Turns the bytes of one OpenAI-compatible answer, streamed or whole, into events of a Record. It
// knows no sockets and asks no clock: every time is given.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "loadtest/measure/record.h"

namespace banyan::loadtest {

enum class Api : std::uint8_t { kChat, kCompletions };

// One event with content.
struct ContentEvent {
  Tick at{0};
  std::int32_t bytes = 0;  // of text
};

class AnswerReader {
 public:
  // A line over this ends the reading with kMalformed.
  static constexpr std::size_t kMaxLineBytes = 16 << 20;

  explicit AnswerReader(Api api) : api_(api) {}

  void Head(int status, std::string_view content_type, Tick at);
  // False when the answer is over, with [DONE] or a fault; later bytes are ignored.
  bool Body(std::string_view bytes, Tick at);
  // The body is complete. Fills the outcome, error, finish_reason, usage and content fields of
  // `record`.
  void Finish(Tick at, Record& record);

  const std::string& text() const { return text_; }  // the answer so far
  // In order. Content is what a reader of the answer would see or a client would act on: content,
  // reasoning and tool calls' deltas; not roles, not empty strings, not usage.
  const std::vector<ContentEvent>& events() const { return events_; }

 private:
  bool Line(std::string_view line, Tick at);
  bool Data(std::string_view json, Tick at);

  const Api api_;
  std::string text_;
  std::vector<ContentEvent> events_;
};

// The gaps between tokens of an answer of `output_tokens` tokens (<= 0: one per event), to `gap`
// (nanoseconds, how many times). Events that bring several tokens count as so many: tokens beyond
// one per event are given to events in proportion to their text; a gap before an event of n tokens
// is n gaps of an n-th of it. The first event has no gap; its further tokens came with it and count
// none.
void TokenGaps(const std::vector<ContentEvent>& events, std::int64_t output_tokens,
               const std::function<void(std::int64_t gap, std::int64_t times)>& gap);

}  // namespace banyan::loadtest
