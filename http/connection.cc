#include "http/connection.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <tuple>
#include <utility>

#include <sys/socket.h>

#include <boost/asio/error.hpp>

#include "http/await.h"

namespace banyan::http {
namespace asio = boost::asio;
namespace {

// How much longer a client may send into an answer that it already has.
constexpr std::chrono::seconds kLingerTime{2};
constexpr std::size_t kLingerBytes = 64 << 20;
// An idle connection gives back a buffer that a large body has grown.
constexpr std::size_t kIdleBufferBytes = 4 << 10;

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, const Options& options)
    : options_(options), stream_(std::move(socket)), input_(options.max_header_bytes + kReadBytes) {
  boost::system::error_code not_open;  // then nothing else works either
  stream_.socket().non_blocking(true, not_open);
}

std::string_view Connection::input() const {
  const auto bytes = input_.cdata();
  return {static_cast<const char*>(bytes.data()), bytes.size()};
}

void Connection::Consume(std::size_t bytes) { input_.consume(bytes); }

asio::awaitable<bool> Connection::Read() {
  if (closed_) co_return false;
  const auto space = input_.prepare(std::min(kReadBytes, input_.max_size() - input_.size()));
  const auto [error, received] = co_await stream_.async_read_some(space, kAwait);
  input_.commit(received);
  if (error) Close();
  co_return !error;
}

asio::awaitable<bool> Connection::ReadFirst() {
  if (input_.size() == 0 && input_.capacity() > kIdleBufferBytes) input_.shrink_to_fit();
  idle_ = true;
  const bool more = co_await Read();
  idle_ = false;
  co_return more;
}

// A deadline costs more than sending a token does, and most of what is written fits at once into
// the socket's buffer.
asio::awaitable<bool> Connection::Write(Pieces pieces) {
  while (pieces[0].size() + pieces[1].size() > 0) {
    if (closed_) co_return false;
    boost::system::error_code error;
    std::size_t written = stream_.socket().write_some(pieces, error);
    if (error == asio::error::would_block) {
      stream_.expires_after(options_.write_timeout);
      std::tie(error, written) = co_await stream_.async_write_some(pieces, kAwait);
    }
    if (error) Close();
    const std::size_t of_first = std::min(written, pieces[0].size());
    pieces[0] += of_first;
    pieces[1] += written - of_first;
  }
  co_return !closed_;
}

asio::awaitable<void> Connection::Linger() {
  boost::system::error_code ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  stream_.expires_after(kLingerTime);
  std::size_t dropped = 0;
  do {
    dropped += input_.size();
    input_.clear();
  } while (dropped < kLingerBytes && co_await Read());
}

void Connection::Watch(std::function<void()> gone) {
  gone_ = std::move(gone);
  if (closed_) {
    std::exchange(gone_, nullptr)();
  } else {
    WaitReadable();
  }
}

// The wait is left pending when the answer is complete: it then ends with the next request's first
// byte and does nothing, or serves the next watch.
void Connection::WaitReadable() {
  if (waiting_) return;
  waiting_ = true;
  stream_.socket().async_wait(asio::ip::tcp::socket::wait_read,
                              [self = shared_from_this()](boost::system::error_code error) {
                                self->waiting_ = false;
                                if (!error && self->gone_) self->OnReadable();
                              });
}

void Connection::OnReadable() {
  if (closed_ || input_.size() == input_.max_size()) return;
  const auto space = input_.prepare(std::min(kReadBytes, input_.max_size() - input_.size()));
  const ssize_t received =
      ::recv(stream_.socket().native_handle(), space.data(), space.size(), MSG_DONTWAIT);
  if (received > 0) input_.commit(static_cast<std::size_t>(received));
  const bool spurious = received < 0 && (errno == EAGAIN || errno == EINTR);
  if (received > 0 || spurious) {
    WaitReadable();
  } else {
    Close();
  }
}

void Connection::Close() {
  if (closed_) return;
  closed_ = true;
  stream_.close();
  if (gone_) std::exchange(gone_, nullptr)();
}

void Connection::CloseIfIdle() {
  if (idle_) Close();
}

}  // namespace banyan::http
