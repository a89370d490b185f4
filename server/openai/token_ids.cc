#include "server/openai/token_ids.h"

#include <boost/json/value.hpp>
#include <cstddef>

#include "absl/strings/str_cat.h"

namespace banyan::server::openai {

Result<std::vector<TokenId>> ParseTokenIds(const boost::json::array& list, const std::string& path,
                                           std::int32_t vocabulary_size) {
  std::vector<TokenId> tokens;
  tokens.reserve(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::int64_t* id = list[i].if_int64();  // what only fits unsigned is no token either
    if (id == nullptr || *id < 0 || *id >= vocabulary_size) {
      const std::string param = absl::StrCat(path, "[", i, "]");
      return Invalid(param, absl::StrCat("'", param, "' must be a token id, an integer from 0 to ",
                                         vocabulary_size - 1, "."));
    }
    tokens.push_back(static_cast<TokenId>(*id));
  }
  return tokens;
}

}  // namespace banyan::server::openai
