// Where a handler waits until the test lets it go on.
#pragma once

#include <deque>
#include <memory>
#include <mutex>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

namespace banyan::http {

// Thread-safe. Each Open() lets one Pass() through, the longest waiting first, or else the next.
class Gate {
 public:
  using Timer = std::shared_ptr<boost::asio::steady_timer>;

  void Open();
  // Returns after an Open(), or when `timer` (whose executor is the handler's) is cancelled.
  boost::asio::awaitable<void> Pass(Timer timer);

 private:
  bool Enter(const Timer& timer);
  void Leave(const Timer& timer);

  std::mutex mutex_;
  std::deque<Timer> waiting_;
  int open_ = 0;
};

}  // namespace banyan::http
