// The client's side of one connection, plain or TLS. One operation at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>

#include "http/client.h"

namespace banyan::http {

class ClientConnection {
 public:
  using ErrorCode = boost::system::error_code;
  using Transferred = std::tuple<ErrorCode, std::size_t>;

  explicit ClientConnection(const boost::asio::any_io_executor& executor) : socket_(executor) {}

  // One attempt; another may follow it.
  boost::asio::awaitable<ErrorCode> Connect(boost::asio::ip::tcp::endpoint to);
  // After Connect. `host` is named to the server, and in its certificate where the context verifies
  // at all. `context` outlives the connection.
  boost::asio::awaitable<ErrorCode> Handshake(boost::asio::ssl::context& context, std::string host);

  // Some bytes, at least one where there is no error.
  boost::asio::awaitable<Transferred> Read(boost::asio::mutable_buffer into);
  boost::asio::awaitable<Transferred> Write(std::string_view bytes);

  // A pending operation fails, soon. The first reason given stays: kStopped or kTimeout.
  void Close(ClientError why);
  ClientError closed() const { return closed_; }  // kNone: it was not

  // False if the server has closed, or said something that nobody asked for. Reads nothing.
  bool Quiet();

  // For people: why the certificate was not trusted, "" when that was not it.
  std::string DistrustOfPeer();

 private:
  boost::asio::ip::tcp::socket socket_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;
  ClientError closed_ = ClientError::kNone;
};

}  // namespace banyan::http
