// The parts of JSON text.
#pragma once

#include <string>
#include <string_view>

namespace banyan::server::openai {

// In quotes, escaped. `text` is UTF-8.
std::string Quoted(std::string_view text);

// The shortest that reads as the same float.
std::string Number(float value);

// Appends `item`, after a comma unless it is the first of its list.
void AppendItem(std::string& list, std::string_view item);

}  // namespace banyan::server::openai
