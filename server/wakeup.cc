#include "server/wakeup.h"

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace banyan::server {

Wakeup::Wakeup(const boost::asio::any_io_executor& strand)
    : never_(strand, boost::asio::steady_timer::time_point::max()) {}

void Wakeup::Notify() {
  boost::asio::post(never_.get_executor(), [self = shared_from_this()] {
    self->notified_ = true;
    self->never_.cancel();
  });
}

boost::asio::awaitable<void> Wakeup::Wait() {
  while (!notified_) {
    boost::system::error_code cancelled;
    co_await never_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, cancelled));
  }
  notified_ = false;
}

}  // namespace banyan::server
