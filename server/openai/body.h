// What the bodies of all POST routes have in common.
#pragma once

#include <string_view>

#include <boost/json/object.hpp>

#include "server/openai/result.h"
#include "server/openai/unsupported.h"

namespace banyan::server::openai {

// The object, once it is known to be JSON, for the model of that name where it names one, and to
// ask nothing that the route does not do.
Result<boost::json::object> ParseBody(std::string_view body, std::string_view model_name,
                                      Route route);

// 404 model_not_found.
http::Error ModelNotFound(std::string_view asked, std::string_view served);

}  // namespace banyan::server::openai
