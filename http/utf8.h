// JSON is UTF-8, but a message may quote what a client sent.
#pragma once

#include <string>
#include <string_view>

namespace banyan::http {

// `text` with every byte that is not part of well-formed UTF-8 (RFC 3629) replaced by U+FFFD.
std::string ToValidUtf8(std::string_view text);

}  // namespace banyan::http
