// Foreign text inside HTML and XML (SVG).
#pragma once

#include <string>
#include <string_view>

namespace banyan {

// For an element's content or a quoted attribute. What is not UTF-8 becomes U+FFFD, and a control
// character a space: neither HTML nor XML has a way to write most of them.
std::string EscapeHtml(std::string_view text);

}  // namespace banyan
