// A listening socket for a host and a port, with errors that an operator understands.
#pragma once

#include <cstdint>
#include <string>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "absl/status/statusor.h"

namespace banyan::http {

// `host` is an IPv4 or IPv6 address (in brackets or not) or a name, of which the first address is
// taken; the port of the result is known also when `port` is 0. May block to look a name up.
absl::StatusOr<boost::asio::ip::tcp::acceptor> ListenOn(boost::asio::io_context& context,
                                                        const std::string& host,
                                                        std::uint16_t port);

}  // namespace banyan::http
