#include "scheduler/inbox.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace banyan::scheduler {
namespace {

// A longer patience would overflow the clock when a deadline is made of it.
constexpr std::chrono::nanoseconds kMaxPatience = std::chrono::hours(1);

}  // namespace

Inbox::Submitted Inbox::Submit(Request request) {
  std::vector<Request> one;
  one.push_back(std::move(request));
  return Submit(std::move(one));
}

Inbox::Submitted Inbox::Submit(std::vector<Request> requests) {
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return Submitted::kClosed;
    if (requests.size() > max_queue_ - waiting_) return Submitted::kFull;
    waiting_ += requests.size();
    std::move(requests.begin(), requests.end(), std::back_inserter(mail_.requests));
  }
  arrived_.notify_one();
  return Submitted::kTaken;
}

void Inbox::Cancel(const Cancellation& cancellation) {
  {
    const std::lock_guard lock(mutex_);
    mail_.cancellations.push_back(cancellation);
  }
  arrived_.notify_one();
}

void Inbox::Close() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  arrived_.notify_one();
}

Inbox::Mail Inbox::Drain(std::chrono::nanoseconds patience) {
  std::unique_lock lock(mutex_);
  if (patience > std::chrono::nanoseconds::zero()) {
    arrived_.wait_for(lock, std::min(patience, kMaxPatience), [this] {
      return closed_ || !mail_.requests.empty() || !mail_.cancellations.empty();
    });
  }
  return std::exchange(mail_, Mail{});
}

void Inbox::Left(std::size_t count) {
  const std::lock_guard lock(mutex_);
  CHECK(count <= waiting_);
  waiting_ -= count;
}

std::size_t Inbox::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

bool Inbox::closed() const {
  const std::lock_guard lock(mutex_);
  return closed_;
}

}  // namespace banyan::scheduler
