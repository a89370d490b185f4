// Parses a template as jinja2 3.1 does, with its loop controls, `do`, and the generation blocks
// that some templates mark answers with.
#pragma once

#include <string_view>

#include "text/jinja/ast.h"

namespace banyan::text::jinja {

// Throws Error with the line where `text` is no template, nests too deep, or uses what is not
// supported (include, import, extends, block: there are no other templates).
Template ParseTemplate(std::string_view text);

}  // namespace banyan::text::jinja
