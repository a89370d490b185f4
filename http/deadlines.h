// Which connections are at work, and until when each may be: one timer looks at all of them now and
// then, so that moving a deadline, which every read does, is a store.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "base/clock.h"
#include "http/client_connection.h"

namespace banyan::http {

// Held by shared_ptr: the timer's last wait may outlive it. No wait is pending while nothing is at
// work.
class Deadlines : public std::enable_shared_from_this<Deadlines> {
 public:
  using Place = std::size_t;

  // A deadline is noticed up to `period` late. `closed` is called when connections were closed.
  Deadlines(const boost::asio::any_io_executor& executor, const Clock& clock,
            std::chrono::milliseconds period, std::function<void()> closed);

  // `connection` lives until Remove().
  Place Add(ClientConnection& connection, Tick deadline);
  void Remove(Place place);
  void Move(Place place, Tick deadline) { deadlines_[place] = deadline; }
  void CloseAll(ClientError why);

  std::size_t size() const { return size_; }

 private:
  void Arm();
  void Sweep();

  const Clock& clock_;
  const std::chrono::milliseconds period_;
  const std::function<void()> closed_;
  boost::asio::steady_timer timer_;
  bool armed_ = false;
  std::size_t size_ = 0;
  // By place. Apart, so that a sweep reads little memory.
  std::vector<Tick> deadlines_;
  std::vector<ClientConnection*> connections_;  // nullptr: the place is free
  std::vector<Place> free_;
};

}  // namespace banyan::http
