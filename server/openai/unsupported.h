// Fields of the OpenAI API (and of the field's other servers) that Banyan knows but does not do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <boost/json/object.hpp>

#include "server/openai/result.h"

namespace banyan::server::openai {

enum class Route : std::uint8_t { kChat, kCompletions, kTokenize, kDetokenize };

// The refusal of the first such field whose value asks for something; a value that changes nothing
// (null, a default) passes. Fields that nobody knows are not looked at.
std::optional<http::Error> RefuseUnsupported(const boost::json::object& request, Route route);

// The same for one of a request's messages; `path` names it ("messages[2]").
std::optional<http::Error> RefuseUnsupportedInMessage(const boost::json::object& message,
                                                      const std::string& path);

}  // namespace banyan::server::openai
