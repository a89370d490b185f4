// The way in: requests and cancellations from I/O threads to the engine thread.
//
// Thread safety: any number of producers, one consumer (the engine thread). Bounded: at most
// `max_queue` requests wait for admission, counted from Submit until Left; callers cancel a request
// that was taken at most once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "scheduler/request.h"

namespace banyan::scheduler {

class Inbox {
 public:
  explicit Inbox(std::size_t max_queue) : max_queue_(max_queue) {}

  enum class Submitted : std::uint8_t { kTaken, kFull, kClosed };
  Submitted Submit(Request request);
  // All of them or none, in this order.
  Submitted Submit(std::vector<Request> requests);
  // The request was taken before. Cancelling one that is gone is harmless.
  void Cancel(const Cancellation& cancellation);
  // No more requests are taken; the engine is woken.
  void Close();

  struct Mail {
    std::vector<Request> requests;
    std::vector<Cancellation> cancellations;
  };
  // Engine: all that came since, in order; waits at most `patience` (and an hour) for something to
  // come, and not at all once closed. Requests are to be handled first: what a cancellation names
  // may be among them.
  Mail Drain(std::chrono::nanoseconds patience);
  // Engine: `count` requests left the queue (admitted, cancelled or refused).
  void Left(std::size_t count);

  // Requests taken and not yet Left.
  std::size_t waiting() const;
  std::size_t max_queue() const { return max_queue_; }
  bool closed() const;

 private:
  const std::size_t max_queue_;
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  Mail mail_;
  std::size_t waiting_ = 0;
  bool closed_ = false;
};

}  // namespace banyan::scheduler
