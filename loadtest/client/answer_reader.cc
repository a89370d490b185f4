#include "loadtest/client/answer_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace banyan::loadtest {
namespace {

constexpr std::size_t kMaxRefusalBytes = 64 << 10;  // of an answer that is an error
constexpr std::size_t kShownBytes = 200;
constexpr std::int64_t kMostTokens = std::numeric_limits<std::int32_t>::max();

// A server may say anything of its tokens; sums of what it says must fit.
bool CanBe(std::int64_t tokens) { return tokens >= 0 && tokens <= kMostTokens; }

// For people: one line, valid UTF-8, not long.
std::string Shown(std::string_view bytes) {
  std::string shown = OnOneLine(ToValidUtf8(bytes.substr(0, kShownBytes)));
  if (bytes.size() > kShownBytes) shown += "...";
  return shown;
}

bool HasType(std::string_view content_type, std::string_view type) {
  return absl::StartsWithIgnoreCase({content_type.data(), content_type.size()},
                                    {type.data(), type.size()});
}

}  // namespace

void AnswerReader::Head(int status, std::string_view content_type, Tick) {
  status_ = status;
  if (status != 200) {
    form_ = Form::kRefused;
  } else if (HasType(content_type, "text/event-stream")) {
    form_ = Form::kEvents;
  } else if (HasType(content_type, "application/json")) {
    form_ = Form::kWhole;
  }
}

bool AnswerReader::Body(std::string_view bytes, Tick at) {
  if (failed() || done()) return false;
  if (form_ == Form::kUnknown && !bytes.empty()) {
    form_ = bytes.front() == '{' ? Form::kWhole : Form::kEvents;
  }
  switch (form_) {
    case Form::kUnknown:
      return true;
    case Form::kEvents:
      return Lines(bytes, at);
    case Form::kWhole:
      return Keep(bytes, line_);
    case Form::kRefused:
      line_ += bytes.substr(0, kMaxRefusalBytes - line_.size());
      return true;
  }
  return true;
}

// A line ends with LF, CR or CRLF.
bool AnswerReader::Lines(std::string_view bytes, Tick at) {
  if (after_cr_ && !bytes.empty()) {
    after_cr_ = false;
    if (bytes.front() == '\n') bytes.remove_prefix(1);
  }
  while (!bytes.empty()) {
    std::size_t end = bytes.find('\n');
    const std::size_t cr = bytes.substr(0, end).find('\r');
    if (cr != std::string_view::npos) end = cr;
    if (end == std::string_view::npos) return Keep(bytes, line_);

    const std::string_view piece = bytes.substr(0, end);
    bool more = true;
    if (line_.empty()) {
      more = piece.size() <= kMaxLineBytes ? Line(piece, at) : Keep(piece, line_);
    } else {
      more = Keep(piece, line_) && Line(line_, at);
      line_.clear();
    }
    if (!more) return false;
    const bool is_cr = bytes[end] == '\r';
    bytes.remove_prefix(end + 1);
    if (is_cr && bytes.starts_with('\n')) bytes.remove_prefix(1);
    after_cr_ = is_cr && bytes.empty();
  }
  return true;
}

bool AnswerReader::Line(std::string_view line, Tick at) {
  if (line.empty()) return Dispatch(at);
  if (line.front() == ':') return true;  // a comment, to keep the connection alive
  const std::size_t colon = line.find(':');
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  const std::string_view name = line.substr(0, colon);
  if (name == "data" && !in_data_) {
    in_data_ = true;
    data_ = value;
    return true;
  }
  return Field(name, value) || Fault(Outcome::kMalformed, "not an event: " + Shown(line));
}

// False for a line that no event stream has.
bool AnswerReader::Field(std::string_view name, std::string_view value) {
  if (name == "data") {
    data_ += '\n';
    Keep(value, data_);
    return true;
  }
  if (name == "error") {  // older llama.cpp
    const bool is_json = parser_.Parse(value, part_);
    Fault(Outcome::kErrorEvent,
          Shown(is_json && part_.error && !part_.error->empty() ? *part_.error : value));
    return true;
  }
  return name == "event" || name == "id" || name == "retry";
}

bool AnswerReader::Dispatch(Tick at) {
  if (failed()) return false;
  if (!in_data_) return true;
  in_data_ = false;
  return Data(data_, at);
}

bool AnswerReader::Data(std::string_view json, Tick at) {
  if (json == "[DONE]") {
    done_at_ = at;
    return false;
  }
  if (!parser_.Parse(json, part_)) {
    return Fault(Outcome::kMalformed, "not JSON: " + Shown(json));
  }
  if (part_.error) {
    return Fault(Outcome::kErrorEvent, Shown(part_.error->empty() ? json : *part_.error));
  }
  if (!part_.known) return Fault(Outcome::kMalformed, "no choices: " + Shown(json));
  if (part_.bytes > 0) events_.push_back({at, static_cast<std::int32_t>(part_.bytes)});
  text_ += part_.text;
  if (!part_.finish_reason.empty()) finish_reason_ = part_.finish_reason;
  if (CanBe(part_.prompt_tokens)) prompt_tokens_ = part_.prompt_tokens;
  if (CanBe(part_.cached_tokens)) cached_tokens_ = part_.cached_tokens;
  if (CanBe(part_.output_tokens)) output_tokens_ = part_.output_tokens;
  return true;
}

bool AnswerReader::Keep(std::string_view bytes, std::string& buffer) {
  if (bytes.size() > kMaxLineBytes || buffer.size() > kMaxLineBytes - bytes.size()) {
    return Fault(Outcome::kMalformed, absl::StrCat("a line of over ", kMaxLineBytes, " bytes"));
  }
  buffer += bytes;
  return true;
}

bool AnswerReader::Fault(Outcome outcome, std::string error) {
  if (!failed()) {
    fault_ = outcome;
    error_ = std::move(error);
  }
  return false;
}

void AnswerReader::FinishWhole(Tick at) {
  if (line_.empty()) return;
  if (Data(line_, at)) done_at_ = at;
}

std::string AnswerReader::RefusalText() {
  std::string_view said = line_;
  if (parser_.Parse(line_, part_) && part_.error && !part_.error->empty()) said = *part_.error;
  return absl::StrCat("status ", status_, said.empty() ? "" : ": ", Shown(said));
}

void AnswerReader::Finish(Tick at, Record& record) {
  if (form_ == Form::kWhole && !failed()) FinishWhole(at);
  if (form_ == Form::kEvents && !failed() && !done()) {
    // The last event may lack its blank line.
    if ((line_.empty() || Line(line_, at)) && in_data_) Dispatch(at);
  }
  if (form_ == Form::kRefused) Fault(Outcome::kStatus, RefusalText());
  if (!failed() && !done() && finish_reason_.empty()) {
    Fault(Outcome::kTruncated, "the answer ended before its finish_reason and [DONE]");
  }
  if (!failed() && events_.empty()) Fault(Outcome::kEmpty, "an answer without content");

  record.outcome = fault_;
  record.error = error_;
  record.status = status_;
  record.finish_reason = finish_reason_;
  record.prompt_tokens = prompt_tokens_;
  record.cached_tokens =
      cached_tokens_ <= prompt_tokens_ || prompt_tokens_ < 0 ? cached_tokens_ : -1;
  record.output_tokens = output_tokens_;
  record.content_events = static_cast<std::int64_t>(events_.size());
  if (!events_.empty()) {
    record.first_content = events_.front().at;
    record.last_content = events_.back().at;
  }
  record.end = done_at_.value_or(at);
}

}  // namespace banyan::loadtest
