// The Responder of one request.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "http/connection.h"
#include "http/server.h"
#include "http/wire.h"

namespace banyan::http {

class Answer final : public Responder {
 public:
  enum class Content { kWhole, kHeadOnly };  // kHeadOnly: to HEAD
  enum class Version { k10, k11 };
  struct Shape {
    Content content = Content::kWhole;
    Version version = Version::k11;
    bool persistent = false;  // the request allows another one after it
  };

  // Both references outlive the answer. Once `draining` is set, answers end their connection.
  Answer(Connection& connection, const Shape& shape, const std::atomic<bool>& draining)
      : connection_(connection), shape_(shape), draining_(draining) {}

  boost::asio::awaitable<bool> Send(Response response) override;
  boost::asio::awaitable<bool> StartEvents() override;
  boost::asio::awaitable<bool> Events(std::vector<std::string> events) override;
  boost::asio::awaitable<bool> FinishEvents(std::vector<std::string> events) override;
  void OnDisconnect(std::function<void()> gone) override;
  boost::asio::any_io_executor executor() override { return connection_.executor(); }

  // Ends what a handler left unfinished: by `error` as the answer if none has left yet, else by an
  // error event.
  boost::asio::awaitable<void> Fail(const Error& error);

  bool complete() const { return state_ == State::kComplete; }
  // The client knows where the answer ended and may send another request.
  bool persists() const { return complete() && persistence_ != Persistence::kClose; }

 private:
  //   kNothing ── Send ──────────────────────────────► kComplete
  //      └─ StartEvents ─► kStarted ── FinishEvents ──────┤
  //                           └─ Events ─► kStreaming ────┘
  enum class State { kNothing, kStarted, kStreaming, kComplete };

  Persistence Decide() const;
  Framing framing() const;
  boost::asio::awaitable<bool> WriteEvents(std::string_view bytes);

  Connection& connection_;
  const Shape shape_;
  const std::atomic<bool>& draining_;
  State state_ = State::kNothing;
  bool watched_ = false;
  Persistence persistence_ = Persistence::kClose;
};

}  // namespace banyan::http
