// Python's comparisons. Where bytes came from plays no part.
#pragma once

#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

bool Equal(Budget& budget, const Value& a, const Value& b);
// Negative, zero, positive. Throws where Python has no order.
int Order(Budget& budget, const Value& a, const Value& b, std::string_view op = "<");
bool Truth(const Value& value);
// value in container. May take items from a generator.
bool Contains(Budget& budget, const Value& container, const Value& value);
bool Compare(Budget& budget, Comparison comparison, const Value& a, const Value& b);
// The same object: none is none, true is true.
bool Same(Budget& budget, const Value& a, const Value& b);

}  // namespace banyan::text::jinja
