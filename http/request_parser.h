// One request, from the bytes of a connection. Knows no socket.
//
// Beast's parser does the grammar; this class adds the bounds and the refusals that keep two
// parties from reading one byte stream as different requests (RFC 9112, 6.3 and 11.2): a repeated
// Content-Length, Content-Length beside Transfer-Encoding, and any coding but "chunked" alone.
//
//             head complete, no body
//   kHead ─────────────────────────────► kDone
//     │ └──── head complete ──► kBody ────┘ body complete
//     └───────── any fault ───────┴─────► kFailed
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "http/message.h"
#include "http/message_parser.h"

namespace banyan::http {

class RequestParser final : private MessageParser<true> {
 public:
  struct Limits {
    std::size_t head_bytes;  // request line, headers and the empty line
    std::size_t body_bytes;  // without the framing of chunks
  };
  enum class State { kHead, kBody, kDone, kFailed };

  explicit RequestParser(const Limits& limits);

  // Takes what it can from the front of `input` and returns how many bytes that was. It stops where
  // the head ends, so that the body can be refused unread, and where the request ends. What is left
  // is to be fed again in front of what comes after it; that is at most Limits::head_bytes, beyond
  // which the request fails.
  std::size_t Feed(std::string_view input);

  State state() const { return state_; }
  // Of kFailed.
  const Error& error() const { return error_; }

  // All below: once the head is complete. The body is complete in kDone; method and headers are as
  // the client sent them, the path is not decoded.
  Request& request() { return request_; }
  const std::string& target() const { return target_; }
  bool http10() const { return version_ == 10; }
  bool persistent() const { return keep_alive(); }
  bool has_body() const { return chunked() || length_ > 0; }
  // Of a body with Content-Length; chunked ones are not known.
  std::optional<std::uint64_t> body_length() const;
  bool expects_continue() const;

 private:
  void on_request_impl(boost::beast::http::verb verb, View method, View target, int version,
                       ErrorCode& error) override;
  void on_response_impl(int, View, int, ErrorCode&) override {}
  void on_field_impl(boost::beast::http::field field, View name, View value,
                     ErrorCode& error) override;
  void on_header_impl(ErrorCode&) override {}
  std::size_t on_body_impl(View piece, ErrorCode& error) override;
  std::size_t on_chunk_body_impl(std::uint64_t remain, View piece, ErrorCode& error) override;

  std::size_t SkipEmptyLines(std::string_view input) const;
  void Advance();
  void CheckHead();
  void CheckBounds(std::size_t waiting);
  void Fail(int status, std::string_view code, std::string message);

  const Limits limits_;
  State state_ = State::kHead;
  Error error_;
  Request request_;
  std::string target_;
  int version_ = 11;
  std::uint64_t length_ = 0;
  int hosts_ = 0;
  int content_lengths_ = 0;
  int transfer_encodings_ = 0;
  std::size_t head_bytes_ = 0;  // consumed
  std::size_t wire_bytes_ = 0;  // consumed of the body, framing included
};

}  // namespace banyan::http
