// Values as text, as Python's str(), repr() and number formats spell them.
#pragma once

#include <string>

#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

// str(value); strings stay as they are, markup too.
Value ToText(Budget& budget, const Value& value);
void WriteText(Writer& writer, const Value& value);
void WriteRepr(Writer& writer, const Value& value);

std::string SpellInteger(const Value& value);  // kBool (as a word), kInteger, kUnsigned
std::string SpellFloat(double value);          // the shortest that reads back the same
// kBool to kFloat; throws for what is none.
double ToFloat(const Value& value);

// &, <, >, ", ' as HTML spells them; what is markup stays.
Value Escape(Budget& budget, const Value& value);

}  // namespace banyan::text::jinja
