// Token ids as requests give them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/json/array.hpp>

#include "base/ids.h"
#include "server/openai/result.h"

namespace banyan::server::openai {

// Integers below `vocabulary_size`; `path` names the list in errors.
Result<std::vector<TokenId>> ParseTokenIds(const boost::json::array& list, const std::string& path,
                                           std::int32_t vocabulary_size);

}  // namespace banyan::server::openai
