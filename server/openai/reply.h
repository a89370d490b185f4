// The ways in which handlers refuse.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "http/server.h"
#include "server/service.h"

namespace banyan::server::openai {

// 503: loading or draining.
http::Error NotReady(Phase phase);

// Sends the error and counts it.
boost::asio::awaitable<void> Refuse(Service& service, http::Responder& responder,
                                    http::Error error);

// 200 with a JSON body.
boost::asio::awaitable<void> Reply(http::Responder& responder, std::string json);

}  // namespace banyan::server::openai
