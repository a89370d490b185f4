#include "http/deadlines.h"

#include <utility>

#include "base/check.h"

namespace banyan::http {

Deadlines::Deadlines(const boost::asio::any_io_executor& executor, const Clock& clock,
                     std::chrono::milliseconds period, std::function<void()> closed)
    : clock_(clock), period_(period), closed_(std::move(closed)), timer_(executor) {}

Deadlines::Place Deadlines::Add(ClientConnection& connection, Tick deadline) {
  if (free_.empty()) {
    free_.push_back(connections_.size());
    deadlines_.push_back(Tick::max());
    connections_.push_back(nullptr);
  }
  const Place place = free_.back();
  free_.pop_back();
  deadlines_[place] = deadline;
  connections_[place] = &connection;
  ++size_;
  if (!armed_) Arm();
  return place;
}

void Deadlines::Remove(Place place) {
  CHECK(connections_[place] != nullptr);
  deadlines_[place] = Tick::max();
  connections_[place] = nullptr;
  free_.push_back(place);
  --size_;
  if (size_ > 0) return;
  timer_.cancel();
  armed_ = false;
}

void Deadlines::CloseAll(ClientError why) {
  for (ClientConnection* connection : connections_) {
    if (connection != nullptr) connection->Close(why);
  }
  closed_();
}

void Deadlines::Arm() {
  armed_ = true;
  timer_.expires_after(period_);
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code error) {
    const std::shared_ptr<Deadlines> self = weak.lock();
    if (!error && self != nullptr) self->Sweep();
  });
}

void Deadlines::Sweep() {
  if (size_ == 0) return;
  const Tick now = clock_.Now();
  bool some = false;
  for (Place place = 0; place < deadlines_.size(); ++place) {
    if (deadlines_[place] > now) continue;
    connections_[place]->Close(ClientError::kTimeout);
    some = true;
  }
  if (some) closed_();
  Arm();
}

}  // namespace banyan::http
