// value.name, value[key] and value[a:b:c], as jinja2's sandbox looks them up.
#pragma once

#include "text/jinja/methods.h"
#include "text/jinja/objects.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

// `name` is a string, `method` what it names among the methods.
Value LookUpAttribute(Objects& objects, const Value& value, const Value& name, MethodId method);
Value LookUpItem(Objects& objects, const Value& value, const Value& key);
// None stands for a bound that is left out.
Value Slice(Objects& objects, const Value& value, const Value& start, const Value& stop,
            const Value& step);

}  // namespace banyan::text::jinja
