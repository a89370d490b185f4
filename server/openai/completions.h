// POST /v1/completions: prompts are text or token ids, each of them a choice.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "http/server.h"
#include "server/service.h"

namespace banyan::server::openai {

boost::asio::awaitable<void> Completions(Service& service, const http::Request& request,
                                         http::Responder& responder);

}  // namespace banyan::server::openai
