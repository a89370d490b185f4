// value|name(arguments): jinja2's filters, with tojson as the transformers library defines it. Left
// out are those that make web pages (urlize, xmlattr, ...) or depend on chance.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja/arguments.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

class Evaluator;

struct Filter {
  std::string_view name;
  Value (*apply)(Evaluator& evaluator, const Value& value, const Arguments& arguments);
};

// Null: no filter has that name.
const Filter* FilterNamed(std::string_view name);

// Each part of the table with its file.
std::span<const Filter> TextFilters();
std::span<const Filter> ListFilters();
std::span<const Filter> SelectFilters();
std::span<const Filter> NumberFilters();

}  // namespace banyan::text::jinja
