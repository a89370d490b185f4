// One accepted socket: bounded reads, bounded writes, and the watch for a client that goes away.
//
// Everything runs on the connection's strand. Held by shared_ptr: by the session's coroutine and by
// a wait for readability that may still be pending when the session has ended.
//
// Deadlines are those of beast::tcp_stream: an operation that outlives its deadline closes the
// socket and fails. While a handler runs no operation is pending, so no deadline does either.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>

#include "http/server.h"

namespace banyan::http {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Pieces = std::array<boost::asio::const_buffer, 2>;

  // `options` outlives the connection.
  Connection(boost::asio::ip::tcp::socket socket, const Options& options);

  boost::asio::any_io_executor executor() { return stream_.get_executor(); }

  // Bytes received and not yet consumed: at most max_header_bytes + kReadBytes.
  std::string_view input() const;
  void Consume(std::size_t bytes);

  // Read() fails if the client sends nothing until idle_timeout from now.
  void StartIdleTimeout() { stream_.expires_after(options_.idle_timeout); }
  // Appends what the client sent next to input(). False: the connection is over.
  boost::asio::awaitable<bool> Read();
  // The same between requests: CloseIfIdle() ends the wait.
  boost::asio::awaitable<bool> ReadFirst();
  // Writes both pieces. False: the client is gone, or took nothing for write_timeout.
  boost::asio::awaitable<bool> Write(Pieces pieces);
  // Says that nothing more will be written, and drops what the client is still sending (within
  // bounds). Closing over unread bytes would reset the connection, and the answer with it.
  boost::asio::awaitable<void> Linger();

  // From now on, and until Unwatch(), `gone` is called once as soon as the client closes or resets;
  // inside this call if it is gone already. Bytes of pipelined requests are moved to input(), to
  // find the end of the stream behind them; once input() is full, only a failed write tells.
  void Watch(std::function<void()> gone);
  void Unwatch() { gone_ = nullptr; }

  // Closes the socket; a pending operation fails, and `gone` is called.
  void Close();
  void CloseIfIdle();
  bool closed() const { return closed_; }

 private:
  static constexpr std::size_t kReadBytes = 16 << 10;

  void WaitReadable();
  void OnReadable();

  const Options& options_;
  boost::beast::tcp_stream stream_;
  boost::beast::flat_buffer input_;
  bool closed_ = false;
  bool idle_ = false;     // in ReadFirst()
  bool waiting_ = false;  // a wait for readability is pending
  std::function<void()> gone_;
};

}  // namespace banyan::http
