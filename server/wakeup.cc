#include "server/wakeup.h"

#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace banyan::server {
namespace asio = boost::asio;

Wakeup::Wakeup(const asio::any_io_executor& strand)
    : never_(strand, asio::steady_timer::time_point::max()) {}

void Wakeup::Notify() {
  notified_ = true;
  const std::lock_guard lock(mutex_);
  never_.cancel();
}

asio::awaitable<void> Wakeup::Wait() {
  // Without the lock: who has notified may still hold it.
  while (!notified_.exchange(false)) {
    boost::system::error_code cancelled;
    auto token = asio::redirect_error(asio::use_awaitable, cancelled);
    const auto wait = [this](auto handler) {
      const std::lock_guard lock(mutex_);
      never_.async_wait(std::move(handler));
      if (notified_) never_.cancel();  // it came in between, when there was no wait to end
    };
    co_await asio::async_initiate<decltype(token), void(boost::system::error_code)>(wait, token);
  }
}

}  // namespace banyan::server
