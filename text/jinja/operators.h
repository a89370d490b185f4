// Python's arithmetic, on numbers, strings and lists. Integers of more than 63 bits are refused.
#pragma once

#include "text/jinja/ast.h"
#include "text/jinja/objects.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

class Evaluator;

// kAdd to kPower.
Value Calculate(Evaluator& evaluator, Op op, const Value& left, const Value& right);
Value Add(Objects& objects, const Value& left, const Value& right);
Value Negative(const Value& value);
Value Positive(const Value& value);

}  // namespace banyan::text::jinja
