// Python's two ways to fill values into a string.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

class Evaluator;

// format % values: https://docs.python.org/3/library/stdtypes.html#printf-style-string-formatting
Value FormatPercent(Evaluator& evaluator, const Value& format, const Value& values);

// format.format(...): https://docs.python.org/3/library/string.html#format-string-syntax
Value FormatBraces(Evaluator& evaluator, const Value& format, const Arguments& arguments);

// How one value is to be spelled.
struct Spec {
  Value fill = Value::Static(" ");  // one character
  char align = '\0';                // '<', '>', '^', '='
  char sign = '-';
  bool alternate = false;  // '#'
  char group = '\0';       // ',' or '_'
  int width = 0;
  int precision = -1;
  char type = '\0';
};

// The bound on a width and a precision, beyond which the format is refused.
inline constexpr int kMaxFormatWidth = 10000;

// A number as `spec` says, without width. `d`, `x`, `e`, `f`, `g`, `%`, ...
std::string SpellNumber(const Value& value, const Spec& spec);

}  // namespace banyan::text::jinja
