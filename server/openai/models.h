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

// One entry; the member "banyan" is ours.
std::string ModelJson(const std::string& name, std::int64_t created, const ServedModel& model);

}  // namespace banyan::server::openai
