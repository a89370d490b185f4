// JSON as a request must be: one object, UTF-8, no key twice in an object, bounded.
#pragma once

#include <cstddef>
#include <string_view>

#include <boost/json/object.hpp>

#include "server/openai/result.h"

namespace banyan::server::openai {

inline constexpr std::size_t kMaxJsonDepth = 32;        // objects and arrays inside each other
inline constexpr std::size_t kMaxJsonValues = 1 << 18;  // of all kinds, keys not counted

// Errors are 400 invalid_request and say where the text goes wrong.
Result<boost::json::object> ParseObject(std::string_view text);
// The same of one of several texts, which share `values_left`.
Result<boost::json::object> ParseObject(std::string_view text, std::size_t& values_left);

}  // namespace banyan::server::openai
