// The methods of Python's str.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

class Evaluator;

struct StringMethod {
  std::string_view name;
  Value (*apply)(Evaluator& evaluator, const Value& self, const Arguments& arguments);
};

std::span<const StringMethod> StringMethods();

}  // namespace banyan::text::jinja
