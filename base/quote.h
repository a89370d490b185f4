// Foreign text inside an error message.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace banyan {

inline constexpr std::size_t kMaxQuotedBytes = 80;

// `text` in single quotes, escaped as in C, so one line; past kMaxQuotedBytes it is cut and ends in
// "...".
std::string Quote(std::string_view text);

// `text` as it is, where quoting would change nothing in it.
std::string QuoteWhereNeeded(std::string_view text);

// With a space for each control character, so that it is one line and moves no cursor.
std::string OnOneLine(std::string text);

}  // namespace banyan
