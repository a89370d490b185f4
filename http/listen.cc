#include "http/listen.h"

#include <cstring>
#include <memory>
#include <utility>

#include <netdb.h>

#include <boost/asio/strand.hpp>

#include "absl/strings/str_cat.h"

namespace banyan::http {
namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

absl::StatusOr<tcp::endpoint> Resolve(std::string host, std::uint16_t port) {
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  // A NUL would cut the name short, an empty one would mean any address.
  if (host.empty() || host.find('\0') != std::string::npos) {
    return absl::InvalidArgumentError("the host to listen on is empty");
  }
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int result = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (result != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot listen on host \"", host, "\": ", ::gai_strerror(result)));
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  tcp::endpoint endpoint;
  endpoint.resize(found->ai_addrlen);
  std::memcpy(endpoint.data(), found->ai_addr, found->ai_addrlen);
  return endpoint;
}

absl::Status ListenError(const std::string& host, std::uint16_t port, const error_code& error) {
  const std::string place = host.find(':') != std::string::npos && host.front() != '['
                                ? absl::StrCat("[", host, "]:", port)
                                : absl::StrCat(host, ":", port);
  if (error == asio::error::address_in_use) {
    return absl::AlreadyExistsError(place + " is in use by another process");
  }
  const std::string message = absl::StrCat("cannot listen on ", place, ": ", error.message());
  if (error == asio::error::access_denied) return absl::PermissionDeniedError(message);
  return absl::InvalidArgumentError(message);
}

}  // namespace

absl::StatusOr<tcp::acceptor> ListenOn(asio::io_context& context, const std::string& host,
                                       std::uint16_t port) {
  absl::StatusOr<tcp::endpoint> endpoint = Resolve(host, port);
  if (!endpoint.ok()) return endpoint.status();

  tcp::acceptor acceptor(asio::make_strand(context));
  error_code error;
  acceptor.open(endpoint->protocol(), error);
  // A restarted server must not wait for the connections of the one before to time out.
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(*endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return ListenError(host, port, error);
  return acceptor;
}

}  // namespace banyan::http
