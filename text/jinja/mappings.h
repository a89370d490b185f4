// Making mappings as Python's dict() does.
#pragma once

#include "text/jinja/arguments.h"
#include "text/jinja/objects.h"

namespace banyan::text::jinja {

void AddAll(Mapping& to, const Mapping& from);

// From a mapping or a list of pairs, and from named arguments.
Ref<Mapping> MakeMapping(Objects& objects, const Arguments& arguments);

}  // namespace banyan::text::jinja
