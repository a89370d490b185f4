// GET /v1/models and /v1/models/{id}.
#pragma once

#include <boost/asio/awaitable.hpp>

#include "http/server.h"
#include "server/service.h"

namespace banyan::server::openai {

boost::asio::awaitable<void> ListModels(Service& service, const http::Request& request,
                                        http::Responder& responder);
boost::asio::awaitable<void> ShowModel(Service& service, const http::Request& request,
                                       http::Responder& responder);

}  // namespace banyan::server::openai
