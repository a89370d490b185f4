// Dates as Python's datetime.strftime writes them, in UTC and in English.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace banyan::text::jinja {

// `seconds` since 1970. What is no directive stays as it is.
std::string FormatTime(std::string_view format, std::int64_t seconds);

}  // namespace banyan::text::jinja
