// Cuts a template into tokens as jinja2 3.1 does with trim_blocks and lstrip_blocks, which is what
// chat templates are written for:
// https://jinja.palletsprojects.com/en/3.1.x/templates/#whitespace-control
#pragma once

#include <string_view>
#include <vector>

#include "text/jinja/token.h"

namespace banyan::text::jinja {

// Ends with a kEnd. Throws Error with the line where the text is no template.
std::vector<Token> Tokenize(std::string_view text);

}  // namespace banyan::text::jinja
