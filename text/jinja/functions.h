// The functions that a template can call without a value before them: range, namespace, dict,
// raise_exception, strftime_now.
#pragma once

#include <optional>
#include <string_view>

#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

class Evaluator;

// None: no function has that name.
std::optional<int> FunctionNamed(std::string_view name);
Value CallFunction(Evaluator& evaluator, int function, const Arguments& arguments);

}  // namespace banyan::text::jinja
