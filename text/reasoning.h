// How template families mark what a model thinks.
#pragma once

#include <optional>
#include <string_view>

#include "text/codec.h"

namespace banyan::text {

// By the marks that stand in a template's text; none where there are none.
std::optional<ReasoningMarks> ReasoningMarksOf(std::string_view template_text);

}  // namespace banyan::text
