// Foreign bytes inside an error message: on one line and not at any length.
#pragma once

#include <string>
#include <string_view>

namespace banyan::model {

// `name` in single quotes, escaped as in C; past 80 bytes it is cut and ends in "...".
std::string Quote(std::string_view name);

}  // namespace banyan::model
