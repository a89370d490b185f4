// The ways in which handlers answer at once, and refuse.
#pragma once

#include <string>

#include <boost/asio/awaitable.hpp>

#include "http/server.h"
#include "server/openai/result.h"
#include "server/service.h"

namespace banyan::server::openai {

// 503: loading or draining.
http::Error NotReady(Phase phase);

// Sends the error and counts it.
boost::asio::awaitable<void> Refuse(Service& service, http::Responder& responder,
                                    http::Error error);

// 200 with a JSON body.
boost::asio::awaitable<void> Reply(http::Responder& responder, std::string json);

// The same of what `make` says, once the model is loaded.
boost::asio::awaitable<void> ReplyAtOnce(Service& service, const http::Request& request,
                                         http::Responder& responder,
                                         Result<std::string> (*make)(const Service& service,
                                                                     const ServedModel& model,
                                                                     const http::Request& request));

}  // namespace banyan::server::openai
