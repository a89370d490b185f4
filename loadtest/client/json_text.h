// JSON text that is appended to, so that a history of 100 kB is written once and not at every turn.
#pragma once

#include <string>
#include <string_view>

namespace banyan::loadtest {

// Appends `text`, which is UTF-8, as it stands between the quotes of a JSON string.
void AppendEscaped(std::string_view text, std::string& json);

// With its quotes.
void AppendQuoted(std::string_view text, std::string& json);

}  // namespace banyan::loadtest
