// Waiting for a time, and for one of a bounded number of places; both end at once when the run
// does. One thread.
#pragma once

#include <cstdint>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>

#include "absl/container/flat_hash_set.h"
#include "base/clock.h"

namespace banyan::loadtest {

class Waiting {
 public:
  // `places` >= 1.
  Waiting(boost::asio::any_io_executor executor, std::int32_t places);

  // Until a moment of the steady clock, which may be past. False: the run has ended.
  boost::asio::awaitable<bool> Until(Tick at);

  // A place, in the order of asking. False: the run has ended, and there is none to Leave.
  boost::asio::awaitable<bool> Enter();
  void Leave();

  // From now on nobody waits.
  void Stop();
  bool stopped() const { return stopped_; }

 private:
  const boost::asio::any_io_executor executor_;
  std::int32_t places_;  // that are free
  bool stopped_ = false;
  boost::asio::steady_timer turn_;  // never expires: a free place wakes the first that waits
  absl::flat_hash_set<boost::asio::steady_timer*> sleeping_;
};

}  // namespace banyan::loadtest
