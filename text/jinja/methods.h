// The methods of Python's strings, lists and mappings that templates can call.
#pragma once

#include <cstdint>
#include <string_view>

namespace banyan::text::jinja {

class Arguments;
class Evaluator;
class Value;

// A row of the table in methods.cc; kNone: no method has that name.
enum class MethodId : std::int16_t { kNone = -1 };

MethodId MethodNamed(std::string_view name);

enum class Access : unsigned char {
  kNone,     // values of this kind have no such attribute
  kAllowed,  //
  kUnsafe,   // they have, but it would change them, or is not for templates: undefined
};
Access MethodAccess(const Value& value, MethodId method);

// Of a kAllowed method.
Value CallMethod(Evaluator& evaluator, const Value& self, MethodId method,
                 const Arguments& arguments);

}  // namespace banyan::text::jinja
