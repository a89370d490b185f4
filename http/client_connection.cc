#include "http/client_connection.h"

#include <cerrno>

#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>

#include "http/await.h"

namespace banyan::http {
namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;

asio::awaitable<ClientConnection::ErrorCode> ClientConnection::Connect(tcp::endpoint to) {
  ErrorCode error;
  ErrorCode ignored;
  socket_.close(ignored);
  if (closed_ != ClientError::kNone) co_return asio::error::operation_aborted;
  socket_.open(to.protocol(), error);
  if (error) co_return error;
  socket_.set_option(tcp::no_delay(true), ignored);
  const auto [failure] = co_await socket_.async_connect(to, kAwait);
  if (failure) co_return failure;
  // Where nobody listens on a port of this machine, one attempt in some ten thousand is given that
  // port for its own end, and TCP connects it with itself.
  if (socket_.local_endpoint(ignored) == to) {
    socket_.close(ignored);
    co_return asio::error::connection_refused;
  }
  co_return failure;
}

asio::awaitable<ClientConnection::ErrorCode> ClientConnection::Handshake(ssl::context& context,
                                                                         std::string host) {
  tls_.emplace(socket_, context);
  ErrorCode error;
  asio::ip::make_address(host, error);
  // Only names may be named to the server (RFC 6066, 3).
  if (error && SSL_set_tlsext_host_name(tls_->native_handle(), host.c_str()) != 1) {
    co_return asio::error::no_memory;
  }
  tls_->set_verify_callback(ssl::host_name_verification(host), error);
  if (error) co_return error;
  const auto [failure] = co_await tls_->async_handshake(ssl::stream_base::client, kAwait);
  co_return failure;
}

asio::awaitable<ClientConnection::Transferred> ClientConnection::Read(asio::mutable_buffer into) {
  if (tls_) return tls_->async_read_some(into, kAwait);
  return socket_.async_read_some(into, kAwait);
}

asio::awaitable<ClientConnection::Transferred> ClientConnection::Write(std::string_view bytes) {
  if (tls_) return tls_->async_write_some(asio::buffer(bytes), kAwait);
  return socket_.async_write_some(asio::buffer(bytes), kAwait);
}

void ClientConnection::Close(ClientError why) {
  if (closed_ == ClientError::kNone) closed_ = why;
  ErrorCode ignored;
  socket_.close(ignored);
}

bool ClientConnection::Quiet() {
  if (tls_) {
    SSL* const ssl = tls_->native_handle();
    // What was read from the socket together with the answer, and not asked of TLS.
    if (SSL_has_pending(ssl) == 1 || BIO_ctrl_pending(SSL_get_rbio(ssl)) > 0) return false;
  }
  char byte = 0;
  return ::recv(socket_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
         (errno == EAGAIN || errno == EWOULDBLOCK);
}

std::string ClientConnection::DistrustOfPeer() {
  if (!tls_) return "";
  const long result = SSL_get_verify_result(tls_->native_handle());
  return result == X509_V_OK ? "" : X509_verify_cert_error_string(result);
}

}  // namespace banyan::http
