// How the engine thread wakes the coroutine that waits for a request's tokens.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace banyan::server {

// No wake-up is lost: one that comes while nobody waits ends the next Wait at once. Several before
// a Wait count as one. Shared by the two sides, so that Notify is safe when the coroutine is gone;
// the executor's io_context must live as long as anybody may call Notify.
//
// A token may come every millisecond or two while all processors compute, so one wake-up is one
// sleeping I/O thread that resumes the coroutine, and nothing goes by way of another.
class Wakeup {
 public:
  // `strand` runs one handler at a time.
  explicit Wakeup(const boost::asio::any_io_executor& strand);

  // Any thread.
  void Notify();
  // On the strand, by one coroutine at a time.
  boost::asio::awaitable<void> Wait();

 private:
  std::atomic<bool> notified_ = false;
  std::mutex mutex_;                 // for a timer is not for two threads at a time
  boost::asio::steady_timer never_;  // expires never; cancelling it resumes the waiter
};

}  // namespace banyan::server
