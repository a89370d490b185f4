#include "http/answer.h"

#include <utility>

#include <boost/asio/buffer.hpp>

#include "base/check.h"

namespace banyan::http {
namespace asio = boost::asio;

Persistence Answer::Decide() const {
  if (!shape_.persistent || draining_) return Persistence::kClose;
  return shape_.version == Version::k10 ? Persistence::kKeepAlive10 : Persistence::kKeepAlive;
}

Framing Answer::framing() const {
  return shape_.version == Version::k10 ? Framing::kUntilClose : Framing::kChunked;
}

asio::awaitable<bool> Answer::Send(Response response) {
  CHECK(state_ == State::kNothing);
  state_ = State::kComplete;
  persistence_ = Decide();
  const std::string head = ResponseHead(response, persistence_);
  const bool bodiless = shape_.content == Content::kHeadOnly || HasNoBody(response.status);
  Connection::Pieces pieces;
  pieces[0] = asio::buffer(head);
  if (!bodiless) pieces[1] = asio::buffer(response.body);
  const bool sent = co_await connection_.Write(pieces);
  connection_.Unwatch();
  co_return sent;
}

asio::awaitable<bool> Answer::StartEvents() {
  CHECK(state_ == State::kNothing);
  state_ = State::kStarted;
  co_return !connection_.closed();
}

asio::awaitable<bool> Answer::Events(std::vector<std::string> events) {
  CHECK(state_ == State::kStarted || state_ == State::kStreaming);
  if (events.empty()) co_return !connection_.closed();
  const std::string bytes = EventBytes(events, framing());
  const bool sent = co_await WriteEvents(bytes);
  co_return sent;
}

asio::awaitable<bool> Answer::FinishEvents(std::vector<std::string> events) {
  CHECK(state_ == State::kStarted || state_ == State::kStreaming);
  std::string bytes = EventBytes(events, framing());
  if (framing() == Framing::kChunked) bytes += kLastChunk;
  const bool sent = co_await WriteEvents(bytes);
  state_ = State::kComplete;
  connection_.Unwatch();
  co_return sent;
}

// The head goes in front of the first bytes. It decides whether the connection persists.
asio::awaitable<bool> Answer::WriteEvents(std::string_view bytes) {
  std::string head;
  if (state_ == State::kStarted) {
    state_ = State::kStreaming;
    persistence_ = framing() == Framing::kUntilClose ? Persistence::kClose : Decide();
    head = EventStreamHead(framing(), persistence_);
  }
  Connection::Pieces pieces;
  pieces[0] = asio::buffer(head);
  if (shape_.content == Content::kWhole) pieces[1] = asio::buffer(bytes);
  const bool sent = co_await connection_.Write(pieces);
  co_return sent;
}

void Answer::OnDisconnect(std::function<void()> gone) {
  CHECK(!watched_ && state_ != State::kComplete);
  watched_ = true;
  connection_.Watch(std::move(gone));
}

asio::awaitable<void> Answer::Fail(const Error& error) {
  if (complete() || connection_.closed()) co_return;
  if (state_ == State::kStreaming) {
    std::vector<std::string> events;
    events.push_back(ErrorBody(error));
    co_await FinishEvents(std::move(events));
  } else {
    state_ = State::kNothing;
    co_await SendError(error);
  }
}

}  // namespace banyan::http
