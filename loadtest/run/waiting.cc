#include "loadtest/run/waiting.h"

#include <utility>

#include "base/check.h"
#include "loadtest/run/await.h"

namespace banyan::loadtest {
namespace asio = boost::asio;

Waiting::Waiting(asio::any_io_executor executor, std::int32_t places)
    : executor_(std::move(executor)),
      places_(places),
      turn_(executor_, asio::steady_timer::time_point::max()) {
  CHECK(places >= 1);
}

asio::awaitable<bool> Waiting::Until(Tick at) {
  const asio::steady_timer::time_point when(at);
  if (stopped_) co_return false;
  if (std::chrono::steady_clock::now() >= when) co_return true;
  asio::steady_timer timer(executor_, when);
  sleeping_.insert(&timer);
  co_await timer.async_wait(kAwait);
  sleeping_.erase(&timer);
  co_return !stopped_;
}

asio::awaitable<bool> Waiting::Enter() {
  // A place that is left goes to the first that waits, not to who comes just then: Leave() keeps
  // it taken.
  if (places_ > 0) {
    if (stopped_) co_return false;
    --places_;
    co_return true;
  }
  if (stopped_) co_return false;
  co_await turn_.async_wait(kAwait);
  co_return !stopped_;
}

void Waiting::Leave() {
  if (turn_.cancel_one() == 0) ++places_;
}

void Waiting::Stop() {
  stopped_ = true;
  turn_.cancel();
  for (asio::steady_timer* timer : sleeping_) timer->cancel();
}

}  // namespace banyan::loadtest
