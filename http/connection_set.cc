#include "http/connection_set.h"

#include <boost/asio/post.hpp>

namespace banyan::http {

bool ConnectionSet::Add(const std::shared_ptr<Connection>& connection) {
  const std::lock_guard lock(mutex_);
  if (connections_.size() >= bound_) return false;
  connections_.emplace(connection.get(), connection);
  return true;
}

void ConnectionSet::Remove(const Connection* connection) {
  const std::lock_guard lock(mutex_);
  connections_.erase(connection);
  if (connections_.empty()) emptied_.notify_all();
}

std::size_t ConnectionSet::size() const {
  const std::lock_guard lock(mutex_);
  return connections_.size();
}

void ConnectionSet::Post(void (Connection::*action)()) {
  const std::lock_guard lock(mutex_);
  for (const auto& [key, weak] : connections_) {
    std::shared_ptr<Connection> connection = weak.lock();
    if (connection == nullptr) continue;
    const auto executor = connection->executor();
    boost::asio::post(
        executor, [connection = std::move(connection), action] { (connection.get()->*action)(); });
  }
}

bool ConnectionSet::WaitEmpty(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return emptied_.wait_for(lock, patience, [this] { return connections_.empty(); });
}

}  // namespace banyan::http
