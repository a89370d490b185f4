#include "tests/http/gate.h"

#include <algorithm>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace banyan::http {
namespace asio = boost::asio;

void Gate::Open() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) {
    ++open_;
    return;
  }
  Timer timer = waiting_.front();
  waiting_.pop_front();
  const auto executor = timer->get_executor();
  asio::post(executor, [timer = std::move(timer)] { timer->cancel(); });
}

asio::awaitable<void> Gate::Pass(Timer timer) {
  // Leaves also when the coroutine is destroyed where it waits.
  struct Visit {
    Gate* gate;
    const Timer& timer;
    ~Visit() { gate->Leave(timer); }
  };
  if (Enter(timer)) co_return;
  const Visit visit{this, timer};
  timer->expires_at(asio::steady_timer::time_point::max());
  co_await timer->async_wait(asio::as_tuple(asio::use_awaitable));
}

bool Gate::Enter(const Timer& timer) {
  const std::lock_guard lock(mutex_);
  if (open_ > 0) {
    --open_;
    return true;
  }
  waiting_.push_back(timer);
  return false;
}

void Gate::Leave(const Timer& timer) {
  const std::lock_guard lock(mutex_);
  std::erase(waiting_, timer);
}

}  // namespace banyan::http
