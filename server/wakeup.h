// How the engine thread wakes the coroutine that waits for a request's tokens.
#pragma once

#include <memory>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace banyan::server {

// No wake-up is lost: one that comes while nobody waits ends the next Wait at once. Several before
// a Wait count as one. Shared by the two sides, so that Notify is safe when the coroutine is gone;
// the executor's io_context must live as long as anybody may call Notify.
class Wakeup : public std::enable_shared_from_this<Wakeup> {
 public:
  // `strand` runs one handler at a time.
  explicit Wakeup(const boost::asio::any_io_executor& strand);

  // Any thread.
  void Notify();
  // On the strand, by one coroutine at a time.
  boost::asio::awaitable<void> Wait();

 private:
  boost::asio::steady_timer never_;  // expires never; cancelling it resumes the waiter
  bool notified_ = false;            // touched on the strand only
};

}  // namespace banyan::server
