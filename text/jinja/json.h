// JSON out of values, as Python's json.dumps writes it, and values out of a request's JSON.
#pragma once

#include <boost/json/value.hpp>

#include "text/jinja/arguments.h"
#include "text/jinja/objects.h"
#include "text/jinja/value.h"

namespace banyan::text::jinja {

// The filter tojson as the transformers library defines it: ensure_ascii, indent, separators,
// sort_keys. What it adds is the template's; strings, keys, numbers and words keep their origin.
Value ToJson(Budget& budget, const Value& value, const Arguments& arguments);

// Strings point into `json`; all of it is the message's.
Value FromJson(Objects& objects, const boost::json::value& json);

}  // namespace banyan::text::jinja
