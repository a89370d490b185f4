// One answer, from the bytes of a connection, handed on as it arrives. Knows no socket.
//
// Beast's parser does the grammar; this class passes over interim answers (1xx), bounds what Beast
// does not, and refuses what would leave the end of the answer to a guess.
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

#include "base/clock.h"
#include "http/client.h"
#include "http/message_parser.h"

namespace banyan::http {

class AnswerParser {
 public:
  // What may wait for its end: a head, the line before a chunk, the trailers.
  static constexpr std::size_t kMaxHeadBytes = 16 << 10;
  static constexpr int kMaxInterimAnswers = 16;

  enum class State : std::uint8_t { kHead, kBody, kDone, kFailed };
  enum class Content : std::uint8_t { kWhole, kHeadOnly };  // kHeadOnly: to HEAD

  // `sink` outlives the parser.
  AnswerParser(Content content, std::size_t max_body_bytes, AnswerSink& sink);

  // Takes what it can from the front of `input`, which was read at `at`, and returns how many bytes
  // that was. What is left of an unfinished answer is to be fed again in front of what comes after
  // it; it is less than kMaxHeadBytes.
  std::size_t Feed(std::string_view input, Tick at);
  // The connection has ended in good order: kDone for an answer that lasts until then, else
  // kFailed with kTruncated.
  void End();

  State state() const { return state_; }
  // Of kFailed: kMalformed or kTruncated.
  ClientError error() const { return error_; }
  const std::string& what() const { return what_; }

  bool begun() const { return begun_; }  // a byte of it has come
  // False once the sink wants no more. What was read with the refusal is still parsed, for an end
  // of the answer in it leaves the connection of use.
  bool wanted() const { return machine_->wanted; }
  // Of kDone: the server takes another request on this connection.
  bool persistent() const;

 private:
  struct Machine final : MessageParser<false> {
    explicit Machine(AnswerSink& to) : sink(to) {}

    bool interim() const { return status / 100 == 1; }
    std::size_t Body(View piece);

    void on_request_impl(boost::beast::http::verb, View, View, int, ErrorCode&) override {}
    void on_response_impl(int code, View reason, int of_http, ErrorCode& error) override;
    void on_field_impl(boost::beast::http::field field, View name, View value,
                       ErrorCode& error) override;
    void on_header_impl(ErrorCode& error) override;
    std::size_t on_body_impl(View piece, ErrorCode& error) override;
    std::size_t on_chunk_body_impl(std::uint64_t remain, View piece, ErrorCode& error) override;

    AnswerSink& sink;
    Tick at{0};
    int status = 0;
    int version = 0;  // 11: HTTP/1.1
    bool wanted = true;
    std::string content_type;
    std::string coding;  // Transfer-Encoding
  };

  void StartMachine();
  void Advance();
  void Fail(ClientError error, std::string what);

  const Content content_;
  const std::size_t max_body_bytes_;
  AnswerSink& sink_;
  State state_ = State::kHead;
  bool begun_ = false;
  int interim_answers_ = 0;
  std::size_t head_bytes_ = 0;
  ClientError error_ = ClientError::kNone;
  std::string what_;
  std::optional<Machine> machine_;
};

}  // namespace banyan::http
