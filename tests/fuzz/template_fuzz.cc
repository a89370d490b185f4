// Any bytes as a chat template, with a conversation behind them: refused with a reason, or rendered
// within bounds.
//
// The input is the template, a zero byte, and JSON: {"messages", "tools", "arguments"}, or any
// text, which then is what the user says.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "boost/json.hpp"
#include "text/chat_template.h"

namespace {

namespace json = boost::json;

void Require(bool holds) {
  if (!holds) std::abort();
}

banyan::text::Conversation ConversationOf(std::string_view text) {
  banyan::text::Conversation conversation;
  boost::system::error_code error;
  const json::value parsed = json::parse(json::string_view(text.data(), text.size()), error);
  const json::object* object = error ? nullptr : parsed.if_object();
  if (object == nullptr) {
    conversation.messages.push_back(
        json::object{{"role", "user"}, {"content", json::string_view(text.data(), text.size())}});
    return conversation;
  }
  const auto array = [&](const char* key, json::array& to) {
    const json::value* value = object->if_contains(key);
    if (value != nullptr && value->is_array()) to = value->get_array();
  };
  array("messages", conversation.messages);
  array("tools", conversation.tools);
  const json::value* arguments = object->if_contains("arguments");
  if (arguments != nullptr && arguments->is_object()) {
    conversation.arguments = arguments->get_object();
  }
  return conversation;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t border = std::min(input.find('\0'), input.size());
  const auto parsed = banyan::text::ChatTemplate::Parse(input.substr(0, border),
                                                        {.bos_token = "<s>", .eos_token = "</s>"});
  if (!parsed.ok()) {
    Require(!parsed.status().message().empty());
    return 0;
  }
  const auto pieces =
      (*parsed)->Render(ConversationOf(input.substr(std::min(border + 1, input.size()))));
  if (!pieces.ok()) {
    Require(pieces.status().code() == absl::StatusCode::kInvalidArgument ||
            pieces.status().code() == absl::StatusCode::kResourceExhausted);
    return 0;
  }
  for (std::size_t i = 0; i < pieces->size(); ++i) {
    Require(!(*pieces)[i].text.empty());
    Require(i == 0 || (*pieces)[i].origin != (*pieces)[i - 1].origin);
  }
  return 0;
}
