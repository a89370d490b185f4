// Turns the bytes of one OpenAI-compatible answer, streamed or whole, into events of a Record. It
// knows no sockets and asks no clock: every time is given.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "loadtest/client/answer_part.h"
#include "loadtest/measure/record.h"

namespace banyan::loadtest {

// One event with content.
struct ContentEvent {
  Tick at{0};
  std::int32_t bytes = 0;  // of text
};

class AnswerReader {
 public:
  // A line over this ends the reading with kMalformed, as do an event and a whole answer.
  static constexpr std::size_t kMaxLineBytes = 16 << 20;

  explicit AnswerReader(Api api) : parser_(api) {}

  void Head(int status, std::string_view content_type, Tick at);
  // False when the answer is over, with [DONE] or a fault; later bytes are ignored.
  bool Body(std::string_view bytes, Tick at);
  // The body is complete. Fills the outcome, status, error, finish_reason, usage, content and end
  // fields of `record`. An answer ends with its [DONE], when it has one.
  void Finish(Tick at, Record& record);

  bool done() const { return done_at_.has_value(); }      // [DONE] came
  bool failed() const { return fault_ != Outcome::kOk; }  // no more of it is wanted

  const std::string& text() const { return text_; }  // the answer so far
  // In order. Content is what a reader of the answer would see or a client would act on: content,
  // reasoning and tool calls' deltas; not roles, not empty strings, not usage.
  const std::vector<ContentEvent>& events() const { return events_; }

 private:
  enum class Form : std::uint8_t {
    kUnknown,  // the first byte will tell
    kEvents,
    kWhole,    // one JSON text
    kRefused,  // another status than 200
  };

  bool Lines(std::string_view bytes, Tick at);
  bool Line(std::string_view line, Tick at);
  bool Field(std::string_view name, std::string_view value);
  bool Dispatch(Tick at);
  bool Data(std::string_view json, Tick at);
  bool Keep(std::string_view bytes, std::string& buffer);
  void FinishWhole(Tick at);
  bool Fault(Outcome outcome, std::string error);
  std::string RefusalText();

  AnswerParser parser_;
  AnswerPart part_;
  Form form_ = Form::kUnknown;
  int status_ = 0;
  std::string line_;      // its beginning, when a read ended within it; the body, when no events
  std::string data_;      // of the event that is being read
  bool in_data_ = false;  // it has data, even if empty
  bool after_cr_ = false;
  std::optional<Tick> done_at_;
  Outcome fault_ = Outcome::kOk;
  std::string error_;

  std::string text_;
  std::vector<ContentEvent> events_;
  std::string finish_reason_;
  std::int64_t prompt_tokens_ = -1;
  std::int64_t cached_tokens_ = -1;
  std::int64_t output_tokens_ = -1;
};

// How many of an answer's `output_tokens` each event brought: one when there are not more than
// events (<= 0: not told); else further ones by the highest averages (D'Hondt): one after the
// other, to the event that has the most text for each token it would then have. That is exact for
// tokens of equal length. `share` is called for each event in order.
void ShareTokens(const std::vector<ContentEvent>& events, std::int64_t output_tokens,
                 const std::function<void(std::size_t event, std::int64_t tokens)>& share);

// The gaps between tokens of an answer, to `gap` (nanoseconds, how many times). A gap before an
// event of n tokens is n gaps of an n-th of it. The first event has no gap; its further tokens came
// with it and count none.
void TokenGaps(const std::vector<ContentEvent>& events, std::int64_t output_tokens,
               const std::function<void(std::int64_t gap, std::int64_t times)>& gap);

}  // namespace banyan::loadtest
