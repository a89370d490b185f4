// Foreign text inside an error message: one line, of bounded length.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace banyan {

inline constexpr std::size_t kMaxQuotedBytes = 80;

// `text` in single quotes, escaped as in C; past kMaxQuotedBytes it is cut and ends in "...".
std::string Quote(std::string_view text);

}  // namespace banyan
