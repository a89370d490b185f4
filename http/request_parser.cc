#include "http/request_parser.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/beast/http/error.hpp>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

namespace banyan::http {
namespace {

using HttpError = boost::beast::http::error;

// Of a chunked body, framing included: a client that sends every byte as a chunk needs 6 bytes for
// each, one that sends long chunk extensions to keep a connection busy needs more.
constexpr std::size_t kMaxWireBytesPerBodyByte = 8;

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return absl::EqualsIgnoreCase({a.data(), a.size()}, {b.data(), b.size()});
}

}  // namespace

RequestParser::RequestParser(const Limits& limits) : limits_(limits) {
  constexpr std::size_t kMost = std::numeric_limits<std::uint32_t>::max();
  header_limit(static_cast<std::uint32_t>(std::min(limits.head_bytes, kMost)));
  // Content-Length is compared by whoever reads the head; this is for chunked bodies.
  body_limit(boost::none);
}

std::size_t RequestParser::Feed(std::string_view input) {
  std::size_t used = 0;
  if (state_ == State::kHead && !got_some()) {
    used = SkipEmptyLines(input);
    head_bytes_ += used;
    if (input.substr(used) == "\r") {
      CheckBounds(1);
      return used;
    }
  }
  while (used < input.size() && (state_ == State::kHead || state_ == State::kBody)) {
    const State before = state_;
    ErrorCode error;
    const std::size_t taken = Put(input.substr(used), error);
    used += taken;
    (before == State::kHead ? head_bytes_ : wire_bytes_) += taken;
    if (error && error != HttpError::need_more) {
      if (error == HttpError::header_limit) {
        CheckBounds(limits_.head_bytes + 1);
      } else if (error == HttpError::body_limit) {
        Fail(413, "request_too_large", "The request body is too large.");
      } else {
        Fail(400, "invalid_request", "The request is not valid HTTP/1.1: " + error.message() + ".");
      }
      return used;
    }
    Advance();
    CheckBounds(error == HttpError::need_more ? input.size() - used : 0);
    if (error == HttpError::need_more || state_ != before) return used;
  }
  return used;
}

// A client may end one request with a line break too many (RFC 9112, 2.2).
std::size_t RequestParser::SkipEmptyLines(std::string_view input) const {
  std::size_t used = 0;
  while (input.substr(used).starts_with("\r\n")) used += 2;
  return used;
}

void RequestParser::Advance() {
  if (state_ == State::kHead && is_header_done()) {
    state_ = State::kBody;
    CheckHead();
  }
  if (state_ == State::kBody && is_done()) state_ = State::kDone;
}

void RequestParser::CheckHead() {
  if (content_lengths_ > 1) {
    return Fail(400, "invalid_request", "The request has more than one Content-Length.");
  }
  if (transfer_encodings_ > 0 && content_lengths_ > 0) {
    return Fail(400, "invalid_request", "The request has Content-Length and Transfer-Encoding.");
  }
  if (transfer_encodings_ > 1 ||
      (transfer_encodings_ == 1 &&
       (http10() || !EqualsIgnoreCase(request_.Header("transfer-encoding"), "chunked")))) {
    return Fail(400, "invalid_request",
                "The only transfer coding that is understood is \"chunked\", in HTTP/1.1.");
  }
  if (hosts_ > 1 || (hosts_ == 0 && !http10())) {
    return Fail(400, "invalid_request", "A request of HTTP/1.1 has exactly one Host header.");
  }
  length_ = content_length().value_or(0);
  if (chunked()) body_limit(limits_.body_bytes);
}

void RequestParser::CheckBounds(std::size_t waiting) {
  if (state_ == State::kFailed) return;
  const bool in_head = wire_bytes_ == 0;
  if (in_head && head_bytes_ + (state_ == State::kHead ? waiting : 0) > limits_.head_bytes) {
    return Fail(431, "headers_too_large",
                "The request line and headers are over the limit of " +
                    std::to_string(limits_.head_bytes) + " bytes.");
  }
  if (state_ != State::kBody) return;
  if (waiting > limits_.head_bytes) {
    return Fail(431, "headers_too_large", "A chunk header or the trailers are too long.");
  }
  if (chunked() &&
      wire_bytes_ / kMaxWireBytesPerBodyByte > limits_.body_bytes + limits_.head_bytes) {
    return Fail(413, "request_too_large", "The framing of the request's chunks is too large.");
  }
}

void RequestParser::Fail(int status, std::string_view code, std::string message) {
  state_ = State::kFailed;
  error_.status = status;
  error_.code = code;
  error_.message = std::move(message);
}

std::optional<std::uint64_t> RequestParser::body_length() const {
  if (chunked()) return std::nullopt;
  return length_;
}

bool RequestParser::expects_continue() const {
  return !http10() && EqualsIgnoreCase(request_.Header("expect"), "100-continue");
}

void RequestParser::on_request_impl(boost::beast::http::verb, View method, View target, int version,
                                    ErrorCode&) {
  request_.method.assign(method.data(), method.size());
  target_.assign(target.data(), target.size());
  version_ = version;
}

void RequestParser::on_field_impl(boost::beast::http::field field, View name, View value,
                                  ErrorCode&) {
  // Trailers are dropped: they must not pass for headers that nobody checked.
  if (state_ != State::kHead) return;
  using Field = boost::beast::http::field;
  if (field == Field::host) ++hosts_;
  if (field == Field::transfer_encoding) ++transfer_encodings_;
  if (field == Field::content_length) {
    content_lengths_ += 1 + static_cast<int>(std::count(value.begin(), value.end(), ','));
  }
  request_.headers.emplace_back(absl::AsciiStrToLower({name.data(), name.size()}),
                                std::string(value.data(), value.size()));
}

std::size_t RequestParser::on_body_impl(View piece, ErrorCode&) {
  request_.body.append(piece.data(), piece.size());
  return piece.size();
}

std::size_t RequestParser::on_chunk_body_impl(std::uint64_t, View piece, ErrorCode&) {
  request_.body.append(piece.data(), piece.size());
  return piece.size();
}

}  // namespace banyan::http
