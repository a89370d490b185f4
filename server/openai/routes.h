// Everything that the server answers, in one table.
#pragma once

#include <vector>

#include "http/server.h"
#include "server/service.h"

namespace banyan::server::openai {

// `service` outlives the routes.
std::vector<http::Server::Route> Routes(Service& service);

}  // namespace banyan::server::openai
