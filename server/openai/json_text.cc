#include "server/openai/json_text.h"

#include <array>
#include <boost/json/serialize.hpp>
#include <charconv>

namespace banyan::server::openai {

std::string Quoted(std::string_view text) {
  return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
}

std::string Number(float value) {
  std::array<char, 32> digits{};
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  return {digits.data(), result.ptr};
}

void AppendItem(std::string& list, std::string_view item) {
  if (!list.empty()) list += ',';
  list += item;
}

}  // namespace banyan::server::openai
