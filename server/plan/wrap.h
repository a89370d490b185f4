// Text for a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace banyan::server {

inline constexpr std::size_t kTerminalColumns = 100;

// `label`, and `text` behind it from column `indent` on, wrapped between words so that lines have
// at most kTerminalColumns bytes (a longer word has a line of its own). Ends in a newline.
std::string Wrapped(std::string_view label, std::size_t indent, std::string_view text);

}  // namespace banyan::server
