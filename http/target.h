// The target of a request line, taken apart.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace banyan::http {

struct Target {
  std::string path;   // percent-decoded; begins with '/'
  std::string query;  // as it came, without the '?'
};

// Accepts "/path?query" and, as RFC 9112 (3.2.2) asks of every server, "http://host/path?query".
// Nothing for any other form, a '%' without two hex digits, or a path with a NUL.
std::optional<Target> ParseTarget(std::string_view target);

}  // namespace banyan::http
