// Whether markup is well-formed as far as pages need it: tags that nest and close, quoted
// attributes, and no stray < or &.
#pragma once

#include <string>
#include <string_view>

namespace banyan::loadtest {

// "" when it is; else what is wrong, and the text there.
std::string XmlFault(std::string_view markup);

}  // namespace banyan::loadtest
