// POST /v1/chat/completions: from a body to an answer or a stream of events.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "http/server.h"
#include "server/service.h"

namespace banyan::server::openai {

boost::asio::awaitable<void> Chat(Service& service, const http::Request& request,
                                  http::Responder& responder);

}  // namespace banyan::server::openai
