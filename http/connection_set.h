// The connections being served: bounded, counted, and reachable from other threads. Thread-safe.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "http/connection.h"

namespace banyan::http {

class ConnectionSet {
 public:
  explicit ConnectionSet(std::size_t bound) : bound_(bound) {}

  // False, and nothing happens, when the set is full.
  bool Add(const std::shared_ptr<Connection>& connection);
  void Remove(const Connection* connection);
  std::size_t size() const;
  // Runs `action` for each, on its strand.
  void Post(void (Connection::*action)());
  // True as soon as the set is empty, false if it is not within `patience`.
  bool WaitEmpty(std::chrono::milliseconds patience);

 private:
  const std::size_t bound_;
  mutable std::mutex mutex_;
  std::condition_variable emptied_;
  // Weak: the last reference must go before the io_context of the socket does.
  std::unordered_map<const Connection*, std::weak_ptr<Connection>> connections_;
};

}  // namespace banyan::http
