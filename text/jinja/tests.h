// value is name(arguments): jinja2's tests.
#pragma once

#include <string_view>

#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

class Evaluator;

struct Test {
  std::string_view name;
  bool (*holds)(Evaluator& evaluator, const Value& value, const Arguments& arguments);
};

// Null: no test has that name.
const Test* TestNamed(std::string_view name);

}  // namespace banyan::text::jinja
