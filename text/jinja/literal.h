// Strings and numbers as a template spells them, with Python's escapes and underscores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace banyan::text::jinja {

// What stands between the quotes; none where an escape is cut short or names no character.
std::optional<std::string> Unescape(std::string_view spelled);

struct NumberLiteral {
  std::size_t length = 0;
  bool is_float = false;
  std::int64_t integer = 0;
  double number = 0;
};

// At the front of `text`, which begins with a digit. `after_dot`: as in a.1.5, where 1 stands
// alone. None: an integer of more than 63 bits.
std::optional<NumberLiteral> ReadNumber(std::string_view text, bool after_dot);

// As Python's int(text, base) and float(text), which allow white space around and underscores
// within. None: no such number, or one of more than 63 bits.
std::optional<std::int64_t> ParseInteger(std::string_view text, int base);
std::optional<double> ParseFloat(std::string_view text);

}  // namespace banyan::text::jinja
