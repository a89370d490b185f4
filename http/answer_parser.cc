#include "http/answer_parser.h"

#include <utility>

#include <boost/beast/http/error.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace banyan::http {
namespace {

using HttpError = boost::beast::http::error;
using Field = boost::beast::http::field;

}  // namespace

AnswerParser::AnswerParser(Content content, std::size_t max_body_bytes, AnswerSink& sink)
    : content_(content), max_body_bytes_(max_body_bytes), sink_(sink) {
  StartMachine();
}

void AnswerParser::StartMachine() {
  machine_.emplace(sink_);
  machine_->header_limit(kMaxHeadBytes);
  machine_->body_limit(max_body_bytes_);
  machine_->skip(content_ == Content::kHeadOnly);
}

std::size_t AnswerParser::Feed(std::string_view input, Tick at) {
  begun_ = begun_ || !input.empty();
  machine_->at = at;
  std::size_t used = 0;
  while (used < input.size() && (state_ == State::kHead || state_ == State::kBody)) {
    const State before = state_;
    Machine::ErrorCode error;
    const std::size_t taken = machine_->Put(input.substr(used), error);
    used += taken;
    if (error && error != HttpError::need_more) {
      if (error == HttpError::header_limit) {
        Fail(ClientError::kMalformed, "the head of the answer is too long");
      } else if (error == HttpError::body_limit) {
        Fail(ClientError::kMalformed,
             absl::StrCat("the answer is over the limit of ", max_body_bytes_, " bytes"));
      } else {
        Fail(ClientError::kMalformed, "the answer is not valid HTTP/1.1: " + error.message());
      }
      return used;
    }
    // Beast takes field after field, and would never see that a head does not end.
    if (state_ == State::kHead) head_bytes_ += taken;
    if (head_bytes_ > kMaxHeadBytes) {
      Fail(ClientError::kMalformed, "the head of the answer is too long");
      return used;
    }
    Advance();
    if (error == HttpError::need_more && state_ == before) break;
  }
  if (state_ != State::kDone && input.size() - used >= kMaxHeadBytes) {
    Fail(ClientError::kMalformed, "a line of the answer is too long");
  }
  return used;
}

void AnswerParser::Advance() {
  if (state_ == State::kHead && machine_->is_header_done()) {
    if (machine_->interim()) {
      if (machine_->status == 101) {
        return Fail(ClientError::kMalformed, "the server changes the protocol unasked");
      }
      if (++interim_answers_ > kMaxInterimAnswers) {
        return Fail(ClientError::kMalformed, "the server sends interim answers without end");
      }
      const Tick at = machine_->at;
      StartMachine();
      machine_->at = at;
      head_bytes_ = 0;
      return;
    }
    state_ = State::kBody;
    machine_->eager(true);  // until here it stops where a head ends, so that its length is known
  }
  if (state_ == State::kBody && machine_->is_done()) state_ = State::kDone;
}

void AnswerParser::End() {
  if (state_ == State::kDone || state_ == State::kFailed) return;
  if (!begun_) return Fail(ClientError::kTruncated, "closed without an answer");
  Machine::ErrorCode error = HttpError::partial_message;
  if (machine_->got_some()) machine_->put_eof(error);
  if (error) return Fail(ClientError::kTruncated, "closed before the answer was complete");
  state_ = State::kDone;
}

void AnswerParser::Fail(ClientError error, std::string what) {
  state_ = State::kFailed;
  error_ = error;
  what_ = std::move(what);
}

bool AnswerParser::persistent() const {
  // Chunks in HTTP/1.0 may have been handed on by somebody who does not know them (RFC 9112, 6.1).
  return machine_->keep_alive() && (machine_->version > 10 || machine_->coding.empty());
}

void AnswerParser::Machine::on_response_impl(int code, View, int of_http, ErrorCode& error) {
  if (code < 100) error = HttpError::bad_status;
  status = code;
  version = of_http;
}

void AnswerParser::Machine::on_field_impl(Field field, View, View value, ErrorCode&) {
  if (is_header_done()) return;  // a trailer
  if (field == Field::content_type) content_type.assign(value.data(), value.size());
  if (field == Field::transfer_encoding) {
    if (!coding.empty()) coding += ',';
    coding.append(value.data(), value.size());
  }
}

void AnswerParser::Machine::on_header_impl(ErrorCode& error) {
  if (interim()) return;
  // Nothing else was asked for, and none but "chunked" tells where the answer ends.
  if (!coding.empty() && !absl::EqualsIgnoreCase(coding, "chunked")) {
    error = HttpError::bad_transfer_encoding;
    return;
  }
  sink.OnHead(status, content_type, at);
}

std::size_t AnswerParser::Machine::Body(View piece) {
  if (wanted && !piece.empty()) wanted = sink.OnBody({piece.data(), piece.size()}, at);
  return piece.size();
}

std::size_t AnswerParser::Machine::on_body_impl(View piece, ErrorCode&) { return Body(piece); }

std::size_t AnswerParser::Machine::on_chunk_body_impl(std::uint64_t, View piece, ErrorCode&) {
  return Body(piece);
}

}  // namespace banyan::http
